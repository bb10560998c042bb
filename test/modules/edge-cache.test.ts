/** The cache of an edge in a process of its own: what survives that process, and what must not. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Target } from '../../src/edge/routes.ts'
import { ask, type EdgeResponse, HOST, serverTarget, startUpstream } from '../support/edge/edge.ts'
import { startEdge } from '../support/edge/edge-process.ts'
import { publish } from '../support/edge/publish.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024
const OTHER = 'other.localhost'

async function start(t: TestContext, diskBytes = 256 * MIB) {
  const folder = await temporaryFolder(t)
  const cache = { memoryBytes: 64 * MIB, folder: join(folder, 'cache'), diskBytes }
  const parts = { folder, cache }
  let count = 0
  const app = await startUpstream(t, ({ url = '' }, response) => {
    count++
    const [, size] = /^\/large\/(\d+)/.exec(url) ?? []
    response.writeHead(200, { 'cache-control': 's-maxage=3600', 'cache-tag': `all, ${url.split('/').at(-1)}` })
    response.end(size === undefined ? `${url} ${count}` : Buffer.alloc(Number(size), 'x'))
  })
  const at = (target: Target = serverTarget(app.port)): Record<string, Target> => ({
    [HOST]: target,
    [OTHER]: { ...serverTarget(app.port, 'i9', 'd9'), environment: 'e9' },
  })
  let edge = await startEdge(parts)
  t.after(() => edge.stop(0))
  await publish(edge, at())
  return {
    app,
    asked: () => count,
    get: (path: string, host = HOST): Promise<EdgeResponse> => ask(edge.address.port, { path, host }),
    edge: () => edge,
    publish: (target?: Target) => publish(edge, at(target)),
    /** Waits until stored objects are on the disk. */
    settle: (paths: string[]) =>
      until(() => {
        const names = readdirSync(cache.folder).filter((name) => name.endsWith('.segment'))
        const log = names.map((name) => readFileSync(join(cache.folder, name), 'latin1')).join()
        return paths.every((path) => log.includes(`"key":"http:${HOST.length}:${HOST}${path}"`))
      }),
    async kill() {
      const pid = edge.pid() ?? 0
      process.kill(pid, 'SIGKILL')
      await until(() => edge.isServing() && edge.pid() !== pid)
      await edge.leased()
    },
    /** Another control process, over the same folder. */
    async restart(isGentle: boolean) {
      if (isGentle) await edge.stop(5000)
      else process.kill(edge.pid() ?? 0, 'SIGKILL')
      if (!isGentle) await edge.stop(0)
      edge = await startEdge(parts)
    },
  }
}

const statusOf = ({ headers }: EdgeResponse): string => String(headers['cache-status'])

test('after an edge was killed its objects are there again, and those that were purged are not', async (t) => {
  const { get, settle, kill, edge, asked } = await start(t)
  const paths = ['/a', '/b', '/c/a', '/d', `/large/${2 * MIB}`]
  for (const path of paths) await get(path)
  await get('/a', OTHER)
  await settle(paths)
  await edge().purge({ environment: 'e1', paths: ['/a'] })
  await edge().purge({ environment: 'e1', tags: ['d'] })
  const before = asked()
  await kill()
  for (const path of ['/b', '/c/a', `/large/${2 * MIB}`]) {
    assert.match(statusOf(await get(path)), /hit/, path)
  }
  assert.match(statusOf(await get('/a', OTHER)), /hit/)
  assert.equal(asked(), before)
  for (const path of ['/a', '/d']) assert.doesNotMatch(statusOf(await get(path)), /hit/, path)
  assert.equal(asked(), before + 2)

  // A purge after the restart also removes objects from before it.
  await edge().purge({ environment: 'e1', paths: ['/b'] })
  assert.doesNotMatch(statusOf(await get('/b')), /hit/)
  await edge().purge({ environment: 'e1', tags: [String(2 * MIB)] })
  assert.doesNotMatch(statusOf(await get(`/large/${2 * MIB}`)), /hit/)
  await edge().purge({ environment: 'e1' })
  await kill()
  for (const path of paths) assert.doesNotMatch(statusOf(await get(path)), /hit/, path)
  assert.match(statusOf(await get('/a', OTHER)), /hit/)
})

test('purges of an edge with an empty cache still apply after a restart', async (t) => {
  const { get, settle, kill, edge } = await start(t)
  // These purges are not written to disk, since no stored object could match them.
  for (let n = 0; n < 5; n++) await edge().purge({ environment: 'e1', paths: ['/a'] })
  await get('/a')
  await get('/b')
  await settle(['/a', '/b'])
  await kill()
  assert.match(statusOf(await get('/a')), /hit/)
  await edge().purge({ environment: 'e1', paths: ['/a'] })
  await edge().purge({ environment: 'e1', tags: ['b'] })
  for (const path of ['/a', '/b']) assert.doesNotMatch(statusOf(await get(path)), /hit/, path)
})

test('an edge that is started with another deployment live does not serve the objects of the old one', async (t) => {
  const { app, get, settle, restart, publish, edge } = await start(t)
  await get('/a')
  await get('/b')
  await settle(['/a', '/b'])
  await restart(true)
  await publish(serverTarget(app.port, 'i2', 'd2'))
  assert.doesNotMatch(statusOf(await get('/a')), /hit/)
  const { lastPurge } = await edge().inspect('e1', `http://${HOST}/b`)
  assert.equal(lastPurge?.by, 'switch')
  await restart(false)
  await publish(serverTarget(app.port, 'i3', 'd1'))
  for (const path of ['/a', '/b']) assert.doesNotMatch(statusOf(await get(path)), /hit/, 'nor when the old one is back')
})

test('an edge that was stopped gracefully has all its objects when it is started again with the same deployment', async (t) => {
  const { app, get, restart, publish, asked } = await start(t)
  for (let n = 0; n < 50; n++) await get(`/${n}`)
  const before = asked()
  await restart(true)
  await publish(serverTarget(app.port, 'i2'))
  for (let n = 0; n < 50; n++) assert.match(statusOf(await get(`/${n}`)), /hit/, String(n))
  assert.equal(asked(), before)
})

test('a purge that is requested while the edge is down is done by the next one', async (t) => {
  const { get, settle, edge } = await start(t)
  await get('/a')
  await settle(['/a'])
  const pid = edge().pid() ?? 0
  process.kill(pid, 'SIGKILL')
  await edge().purge({ environment: 'e1', paths: ['/a'] })
  assert.notEqual(edge().pid(), pid)
  assert.doesNotMatch(statusOf(await get('/a')), /hit/)
})

test('without a disk an edge starts with an empty cache', async (t) => {
  const { get, kill } = await start(t, 0)
  await get('/a')
  assert.match(statusOf(await get('/a')), /hit/)
  await kill()
  assert.doesNotMatch(statusOf(await get('/a')), /hit/)
})
