import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { until } from '../../test/support/until.ts'
import { type Caller, ConnectionLost, createCaller, type Frame, followPeer, listenToPeers, PROTOCOL } from './index.ts'

type Sums = {
  add(numbers: readonly number[]): number
  fail(message: string): never
  /** Never ends by itself. */
  hang(argument: null, signal: AbortSignal): Promise<void>
  nothing(argument: null): void
}

const greetingOf = (role: string) => ({ protocol: PROTOCOL, role, process: '1', version: '1.0.0' })

/** Both ends of a connection: the one that offers sums, and the one that calls. */
async function connected(t: TestContext) {
  const path = join(await temporaryFolder(t), 'c.sock')
  let [hanging, aborted] = [0, 0]
  const methods: Sums = {
    add: (numbers) => numbers.reduce((sum, one) => sum + one, 0),
    fail(message) {
      throw new Error(message)
    },
    hang(_, signal) {
      hanging++
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted++
          reject(signal.reason)
        }),
      )
    },
    nothing: () => undefined,
  }
  const server = await listenToPeers<Frame, Frame>({
    address: path,
    greeting: greetingOf('sums'),
    onPeer: (peer) => createCaller(peer, methods),
    onRefused: assert.fail,
  })
  t.after(() => server.close())
  let caller: Caller<Sums> | undefined
  const client = followPeer<Frame, Frame>({
    addresses: [path],
    greeting: greetingOf('caller'),
    onPeer(peer) {
      caller = createCaller<Sums>(peer)
    },
  })
  t.after(() => client.stop())
  await until(() => caller !== undefined)
  return { caller: caller as unknown as Caller<Sums>, server, hanging: () => hanging, aborted: () => aborted }
}

test('a call ends with the result, also if there is none', async (t) => {
  const { caller } = await connected(t)
  assert.equal(await caller.call('add', [1, 2, 3]), 6)
  assert.equal(await caller.call('nothing', null), undefined)
})

test('many calls at a time each get their own result', async (t) => {
  const { caller } = await connected(t)
  const sums = await Promise.all(Array.from({ length: 200 }, (_, n) => caller.call('add', [n, 1])))
  assert.deepEqual(
    sums,
    Array.from({ length: 200 }, (_, n) => n + 1),
  )
})

test('an error of the other side is the error of the call', async (t) => {
  const { caller } = await connected(t)
  await assert.rejects(caller.call('fail', 'the disk is full'), { message: 'the disk is full' })
})

test('a name that every object has is no method', async (t) => {
  const { caller } = await connected(t)
  await assert.rejects(caller.call('toString' as 'nothing', null), /has no method toString/)
})

test('a call that is aborted is aborted on the other side too', async (t) => {
  const { caller, hanging, aborted } = await connected(t)
  const stop = new AbortController()
  const refused = assert.rejects(caller.call('hang', null, stop.signal), { message: 'enough' })
  await until(() => hanging() === 1)
  stop.abort(new Error('enough'))
  await refused
  await until(() => aborted() === 1)
})

test('calls end with their connection, and so do later ones', async (t) => {
  const { caller, server, hanging } = await connected(t)
  const refused = assert.rejects(caller.call('hang', null), ConnectionLost)
  await until(() => hanging() === 1)
  await server.close()
  await refused
  await assert.rejects(caller.call('add', [1]), ConnectionLost)
})
