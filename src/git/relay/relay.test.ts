import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { PassThrough, type Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { until } from '../../../test/support/until.ts'
import { type Frame, listenToPeers, PROTOCOL } from '../../channel/index.ts'
import { Problem } from '../../contract/index.ts'
import { answerControls } from './answer.ts'
import { createPackets, errorPacket } from './packets.ts'
import { createGitWorkers } from './workers.ts'

type Given = { body?: AsyncIterable<Buffer> | undefined; signal: AbortSignal }
type Serve = (
  request: string,
  given: Given,
) => Promise<{ head: { status: number; headers: Record<string, string> }; body: Readable }>

const HEAD = { status: 200, headers: {} }
const greetingOf = (role: string) => ({ protocol: PROTOCOL, role, process: role, version: 'test' })

/** A control process, and what workers of it are made with. */
async function open(t: TestContext, { waitMs = 10_000 } = {}) {
  const workers = createGitWorkers<string>({ waitMs })
  const path = `${await temporaryFolder(t)}/control`
  const listening = await listenToPeers<Frame, Frame>({
    address: path,
    greeting: greetingOf('control'),
    onPeer: workers.serveWorker,
    onRefused: assert.ifError,
  })
  t.after(listening.close)
  const connect = (serve: Serve) => {
    const onRefused = () => undefined
    const answering = answerControls<string>({ addresses: [path], greeting: greetingOf('worker'), serve, onRefused })
    const stop = () => answering.stop(AbortSignal.abort())
    t.after(stop)
    return { leave: answering.stop, stop }
  }
  const signal = new AbortController().signal
  const ask = (request: string, given: Partial<Given> & { isPush?: boolean } = {}) =>
    workers.serve(request, { signal, isPush: false, ...given })
  return { connect, ask }
}

const packet = (band: number, text: string): Buffer =>
  Buffer.concat([Buffer.from((text.length + 5).toString(16).padStart(4, '0')), Buffer.of(band), Buffer.from(text)])

async function* piecesOf(bytes: Buffer, size = 50_000) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

test('what is sent reaches the worker as it is, and its answer the caller, however long both are', async (t) => {
  const { connect, ask } = await open(t)
  connect(async (request, { body }) => {
    assert.equal(request, 'a request')
    const answer = new PassThrough()
    answer.end(body && (await buffer(body)))
    return { head: HEAD, body: answer }
  })
  const bytes = randomBytes(5_000_000)
  const { head, body } = await ask('a request', { body: piecesOf(bytes) })
  assert.deepEqual(head, HEAD)
  assert.ok(bytes.equals(await buffer(body)))
})

test('no more is taken from a worker than its caller reads', async (t) => {
  const { connect, ask } = await open(t)
  let taken = 0
  connect(async () => {
    const answer = new PassThrough()
    const write = () => {
      while (!answer.destroyed && answer.write(Buffer.alloc(100_000))) taken += 1
    }
    answer.on('drain', write)
    write()
    return { head: HEAD, body: answer }
  })
  const { body } = await ask('endless')
  await new Promise((resolve) => body.once('readable', resolve))
  await until(() => body.readableLength >= body.readableHighWaterMark, 'as much is there as is read ahead')
  const before = taken
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(taken - before < 20 && taken < 100, `${taken} pieces were taken`)
  body.destroy()
})

test('a caller who leaves ends what the worker does, while it begins or while it answers', async (t) => {
  const { connect, ask } = await open(t)
  const ended: string[] = []
  connect(async (request, { signal }) => {
    const answer = new PassThrough()
    answer.once('close', () => ended.push(request))
    if (request === 'answers') {
      answer.write('a')
      return { head: HEAD, body: answer }
    }
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        ended.push(request)
        reject(signal.reason)
      })
    })
  })
  const { body } = await ask('answers')
  body.destroy()
  await until(() => ended.includes('answers'), 'the answer is ended')
  const leaving = new AbortController()
  const asked = ask('begins', { signal: leaving.signal })
  setTimeout(() => leaving.abort(), 50)
  await assert.rejects(asked, { name: 'AbortError' })
  await until(() => ended.includes('begins'), 'the beginning is ended')
})

test('a problem of the worker stays one, and another worker is asked where one has no git', async (t) => {
  const { connect, ask } = await open(t)
  const without = connect(async () => {
    throw new Problem('GIT_UNAVAILABLE', 'git is not installed')
  })
  await assert.rejects(ask('any'), { reason: 'GIT_UNAVAILABLE', message: 'git is not installed' })
  connect(async (_, { body }) => {
    if (!body) throw new Problem('QUOTA_EXCEEDED', 'full', { metadata: { limit: '1' } })
    const answer = new PassThrough()
    answer.end(await buffer(body))
    return { head: HEAD, body: answer }
  })
  await until(
    () =>
      ask('any').then(
        () => false,
        ({ reason, metadata }) => reason === 'QUOTA_EXCEEDED' && metadata.limit === '1',
      ),
    'the other one is asked',
  )
  const { body } = await ask('any', { body: piecesOf(Buffer.from('whole')) })
  assert.equal(String(await buffer(body)), 'whole')
  await without.stop()
})

test('a caller waits for a worker that is about to come, and is refused where none does', async (t) => {
  const { ask } = await open(t, { waitMs: 1 })
  await assert.rejects(ask('any'), { reason: 'GIT_UNAVAILABLE', message: /^No worker is connected/ })
  const later = await open(t)
  const asked = later.ask('any')
  later.connect(async () => ({ head: HEAD, body: new PassThrough().end('here') }))
  assert.equal(String(await buffer((await asked).body)), 'here')
})

test('a pusher is told that the worker was lost, after the last whole packet', async (t) => {
  const { connect, ask } = await open(t)
  const answer = new PassThrough()
  const worker = connect(async () => ({ head: HEAD, body: answer }))
  const whole = packet(2, 'the log of a build\n')
  answer.write(Buffer.concat([whole, packet(2, 'half of it').subarray(0, 8)]))
  const { body } = await ask('a push', { isPush: true })
  await new Promise((resolve) => body.once('readable', resolve))
  await worker.stop()
  const told = await buffer(body)
  assert.ok(told.subarray(0, whole.length).equals(whole))
  const [, band, ...text] = String(told.subarray(whole.length)).split(/(?<=^.{4})(.)/s)
  assert.equal(band, '\x03')
  assert.match(text.join(''), /^GIT_UNAVAILABLE\. The worker that ran git was lost/)
})

test('a request that a lost worker had not read is given to another one', async (t) => {
  const { connect, ask } = await open(t)
  const begun = Promise.withResolvers<void>()
  const lost = connect(() => {
    begun.resolve()
    return new Promise(() => undefined)
  })
  const asked = ask('a push', { isPush: true, body: piecesOf(Buffer.from('whole')) })
  await begun.promise
  await lost.stop()
  connect(async (_, { body = [] as never }) => ({ head: HEAD, body: new PassThrough().end(await buffer(body)) }))
  assert.equal(String(await buffer((await asked).body)), 'whole')
})

test('a worker that stops ends what it has begun, and takes nothing more', async (t) => {
  const { connect, ask } = await open(t)
  const answer = new PassThrough()
  const first = connect(async () => ({ head: HEAD, body: answer }))
  const { body } = await ask('first')
  const stopping = new AbortController()
  let isStopped = false
  const stopped = first.leave(stopping.signal).then(() => {
    isStopped = true
  })
  connect(async () => ({ head: HEAD, body: new PassThrough().end('second') }))
  assert.equal(String(await buffer((await ask('second')).body)), 'second')
  assert.equal(isStopped, false)
  answer.end('first')
  assert.equal(String(await buffer(body)), 'first')
  await stopped
})

test('packets are whole, whichever way they arrive, and what is none is passed on', () => {
  const bytes = Buffer.concat([packet(2, 'one'), packet(1, 'two'), Buffer.from('0000')])
  for (let size = 1; size <= bytes.length; size++) {
    const packets = createPackets()
    const taken: Buffer[] = []
    for (let at = 0; at < bytes.length; at += size) taken.push(packets.take(bytes.subarray(at, at + size)))
    assert.ok(Buffer.concat(taken).equals(bytes))
    assert.deepEqual([packets.rest(), packets.mayTell()], [null, true])
  }
  const plain = createPackets()
  assert.equal(String(plain.take(Buffer.from('Not found'))), 'Not found')
  assert.equal(plain.mayTell(), false)
  assert.equal(String(errorPacket('no')), '0008\x03no\n')
})
