/** An edge that follows a files process over a real socket. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { until } from '../../../test/support/until.ts'
import { processName } from '../../base/index.ts'
import { createCaller, type Frame, listenToPeers, PROTOCOL } from '../../channel/index.ts'
import { createRouteTable } from '../route-table.ts'
import type { Routed, StoredOutput } from '../routes.ts'
import { followFiles } from './follow-files.ts'
import type { FilesMethodsForEdge } from './messages.ts'

const greetingOf = (role: string) => ({ protocol: PROTOCOL, role, process: processName(), version: 'test' })
const outputOf = (name: string): StoredOutput => ({ digest: name, image: `registry/app@${name}` })
const routesOf = (name: string, environment = 'e1', earlier: string[] = []) => [
  {
    environment,
    hosts: {
      [`${environment}.host`]: {
        ...{ kind: 'static' as const, environment, deployment: name, folder: '', manifest: '' },
        output: outputOf(name),
        ...(earlier.length > 0 ? { earlier: { digest: `${name}-index`, outputs: earlier.map(outputOf) } } : {}),
      },
    },
  },
]

type Ensure = FilesMethodsForEdge['ensure']
const found: Ensure = async ({ digest }) => ({ folder: `/${digest}`, manifest: `/${digest}/list` })

async function open(t: TestContext, { standInMs = 60_000 } = {}) {
  const path = join(await temporaryFolder(t), 'files.sock')
  const calls: string[] = []
  let ensure = found
  let ensureEarlier: (mayFetch: boolean) => Promise<string | null> = async () => '/index'
  let missing: string[] = []
  const listen = () =>
    listenToPeers<Frame, Frame>({
      address: path,
      greeting: greetingOf('files'),
      onPeer(peer) {
        const methods: FilesMethodsForEdge = {
          ensure(output) {
            calls.push(`ensure ${output.digest}`)
            return ensure(output)
          },
          async ensureEarlier({ digest, mayFetch }) {
            calls.push(`${mayFetch ? 'fetch' : 'find'} ${digest}`)
            return ensureEarlier(mayFetch)
          },
          async using(digests) {
            calls.push(`using ${digests.join()}`)
            return missing
          },
          release: (digests) => void calls.push(`release ${digests.join()}`),
        }
        createCaller(peer, methods)
      },
      onRefused: () => undefined,
    })
  let server = await listen()
  const targets = new Map<string, Routed>()
  const table = createRouteTable({ fetchesFiles: true })
  const edge = {
    changeRoutes(changes: ReadonlyMap<string, Routed | undefined>) {
      for (const [host, target] of changes) if (target) targets.set(host, target)
    },
  }
  const pausesMs = { first: 20, max: 50 }
  const files = followFiles({ path, greeting: greetingOf('edge'), edge, table, standInMs, pausesMs })
  t.after(async () => {
    await files.stop()
    await server.close()
  })
  return {
    files,
    calls,
    folderOf(environment = 'e1') {
      const target = targets.get(`${environment}.host`)
      return target?.kind === 'static' ? target.folder : target?.kind
    },
    setRoutes(routes: ReturnType<typeof routesOf>) {
      edge.changeRoutes(table.setRoutes(routes))
      return files.untilUsed(routes.map(({ environment }) => environment))
    },
    earlierFiles(environment = 'e1') {
      return targets.get(`${environment}.host`)?.earlierFiles
    },
    answerEarlier(next: typeof ensureEarlier) {
      ensureEarlier = next
    },
    answer(next: Ensure) {
      ensure = next
    },
    async restart(lost: string[]) {
      await server.close()
      missing = lost
      server = await listen()
    },
  }
}

const never: Ensure = () => new Promise(() => undefined)

test('nothing is fetched before a request wants it, and then once', async (t) => {
  const { files, calls, folderOf, setRoutes } = await open(t)
  assert.equal(setRoutes(routesOf('one')), undefined)
  await until(() => calls.length > 0)
  assert.deepEqual(calls, ['using '])
  files.want(outputOf('one'))
  files.want(outputOf('one'))
  await until(() => folderOf() === '/one')
  files.want(outputOf('one'))
  assert.deepEqual(calls.slice(1), ['ensure one'])
})

test('the next deployment of a site in use is fetched at once, and the one before is released', async (t) => {
  const { files, calls, folderOf, setRoutes } = await open(t)
  setRoutes(routesOf('one'))
  files.want(outputOf('one'))
  await until(() => folderOf() === '/one')
  const used = setRoutes(routesOf('two'))
  assert.equal(folderOf(), '/one')
  await used
  assert.equal(folderOf(), '/two')
  await until(() => calls.includes('release one'))
})

test('files that take long keep back neither other sites nor the end of the wait', async (t) => {
  const { files, folderOf, setRoutes, answer } = await open(t, { standInMs: 100 })
  for (const environment of ['e1', 'e2']) {
    setRoutes(routesOf(`${environment}-one`, environment))
    files.want(outputOf(`${environment}-one`))
    await until(() => folderOf(environment) === `/${environment}-one`)
  }
  answer((output) => (output.digest === 'slow' ? never(output) : found(output)))
  const slow = setRoutes(routesOf('slow'))
  await setRoutes(routesOf('quick', 'e2'))
  assert.deepEqual([folderOf('e1'), folderOf('e2')], ['/e1-one', '/quick'])
  await slow
  assert.equal(folderOf('e1'), 'unfetched')
})

test('a later deployment does not prolong the time for which the first stands in', async (t) => {
  const { files, folderOf, setRoutes, answer } = await open(t, { standInMs: 100 })
  setRoutes(routesOf('one'))
  files.want(outputOf('one'))
  await until(() => folderOf() === '/one')
  answer(never)
  const first = setRoutes(routesOf('two'))
  await sleep(20)
  const second = setRoutes(routesOf('three'))
  let isOver = false
  second?.then(() => {
    isOver = true
  })
  await first
  await sleep(0)
  assert.equal(isOver, true)
  assert.equal(folderOf(), 'unfetched')
})

test('after a failure visitors are told so, and the next request after a pause has them fetched', async (t) => {
  const { files, folderOf, setRoutes, answer } = await open(t)
  setRoutes(routesOf('one'))
  answer(() => Promise.reject(new Error('away')))
  files.want(outputOf('one'))
  await until(() => folderOf() === 'unavailable')
  answer(found)
  await until(() => folderOf() === 'unfetched')
  files.want(outputOf('one'))
  await until(() => folderOf() === '/one')
})

test('a failure while another deployment stands in is tried again without a request', async (t) => {
  const { files, folderOf, setRoutes, answer } = await open(t)
  setRoutes(routesOf('one'))
  files.want(outputOf('one'))
  await until(() => folderOf() === '/one')
  let failures = 0
  answer(async (output) => {
    if (++failures < 3) throw new Error('away')
    return found(output)
  })
  const used = setRoutes(routesOf('two'))
  assert.equal(folderOf(), '/one')
  await used
  assert.equal(folderOf(), '/two')
})

test('a files process that was started again is asked for what is wanted, and told what is in use', async (t) => {
  const { files, calls, folderOf, setRoutes, answer, restart } = await open(t)
  for (const name of ['one', 'two', 'three']) setRoutes(routesOf(name, name))
  for (const name of ['one', 'two']) files.want(outputOf(name))
  await until(() => folderOf('one') === '/one' && folderOf('two') === '/two')
  answer(never)
  files.want(outputOf('three'))
  await until(() => calls.includes('ensure three'))
  answer(found)
  await restart(['two'])
  await until(() => folderOf('three') === '/three' && folderOf('two') === 'unfetched')
  assert.equal(folderOf('one'), '/one')
  assert.ok(calls.includes('using one,two'))
})

test('a new deployment answers together with the files of the one before', async (t) => {
  const { files, calls, folderOf, earlierFiles, setRoutes } = await open(t)
  setRoutes(routesOf('one'))
  files.want(outputOf('one'))
  await until(() => folderOf() === '/one')
  await setRoutes(routesOf('two', 'e1', ['one']))
  assert.deepEqual([folderOf(), earlierFiles()], ['/two', '/index'])
  assert.deepEqual(calls.slice(-2), ['ensure two', 'find two-index'])
})

test('earlier outputs that are not on the machine are fetched when the live one is in use', async (t) => {
  const { files, folderOf, earlierFiles, setRoutes, answerEarlier } = await open(t)
  const fetched = Promise.withResolvers<string>()
  answerEarlier(async (mayFetch) => (mayFetch ? fetched.promise : null))
  setRoutes(routesOf('two', 'e1', ['one']))
  files.want(outputOf('two'))
  await until(() => folderOf() === '/two')
  assert.equal(earlierFiles(), undefined)
  fetched.resolve('/fetched')
  await until(() => earlierFiles() === '/fetched')
})

test('an index that could not be made is asked for again after a pause', async (t) => {
  const { files, earlierFiles, setRoutes, answerEarlier } = await open(t)
  let attempts = 0
  answerEarlier(async (mayFetch) => {
    if (!mayFetch) return null
    attempts++
    if (attempts < 3) throw new Error('the registry is away')
    return '/at-last'
  })
  setRoutes(routesOf('two', 'e1', ['one']))
  files.want(outputOf('two'))
  await until(() => earlierFiles() === '/at-last')
})

test('an index that no route names any more is released, and not used', async (t) => {
  const { files, calls, earlierFiles, setRoutes } = await open(t)
  setRoutes(routesOf('two', 'e1', ['one']))
  files.want(outputOf('two'))
  await until(() => earlierFiles() === '/index')
  setRoutes(routesOf('two'))
  assert.equal(earlierFiles(), undefined)
  await until(() => calls.includes('release two-index'))
})
