/** Purges are honest: an edge that cannot be told of one does not answer with what was purged. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ask, type EdgeResponse, HOST, serverTarget, startUpstream } from '../support/edge/edge.ts'
import { startEdge } from '../support/edge/edge-process.ts'
import { publish } from '../support/edge/publish.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024

/** An edge before an app whose page names its version, and may be used for an hour. */
async function start(t: TestContext) {
  let [version, isBroken] = [1, false]
  const app = await startUpstream(t, (request, response) => {
    if (isBroken) return response.writeHead(503).end()
    const etag = `"${version}"`
    const headers = { 'cache-control': 's-maxage=3600, stale-if-error=3600', etag }
    if (request.headers['if-none-match'] === etag) return response.writeHead(304, headers).end()
    response.writeHead(200, headers).end(`version ${version}`)
  })
  const folder = await temporaryFolder(t)
  const cache = { memoryBytes: 64 * MIB, folder: join(folder, 'cache'), diskBytes: 64 * MIB }
  const edge = await startEdge({ folder, cache })
  t.after(() => edge.stop(0))
  await publish(edge, { [HOST]: serverTarget(app.port) })
  const get = (): Promise<EdgeResponse> => ask(edge.address.port)
  const isHit = async () => /hit/.test(String((await get()).headers['cache-status']))
  assert.equal((await get()).text, 'version 1')
  assert.ok(await isHit())
  return {
    edge,
    get,
    isHit,
    change() {
      version++
    },
    breakDown() {
      isBroken = true
    },
    purge: () => edge.purge({ environment: 'e1' }),
  }
}

test('a purge is confirmed without an edge that was stopped, and the edge does not use the old page when it continues', async (t) => {
  const { edge, get, change, purge } = await start(t)
  const pid = edge.pid() as number
  process.kill(pid, 'SIGSTOP')
  change()
  await purge()
  const waiting = get()
  process.kill(pid, 'SIGCONT')
  assert.equal((await waiting).text, 'version 2')
  assert.equal((await get()).text, 'version 2')
})

test('an edge without a control process answers on, and asks the app before each use', async (t) => {
  const { edge, get, isHit, change } = await start(t)
  await edge.leave()
  await until(async () => !(await isHit()))
  const asked = await get()
  assert.deepEqual([asked.status, asked.text], [200, 'version 1'])
  change()
  assert.equal((await get()).text, 'version 2')
  await edge.comeBack()
  await until(isHit)
})

test('an edge without a control process does not use a stored page in place of an error', async (t) => {
  const { edge, get, isHit, breakDown } = await start(t)
  breakDown()
  assert.equal((await get()).text, 'version 1')
  await edge.leave()
  await until(async () => !(await isHit()))
  assert.equal((await get()).status, 503)
})

test('an edge that comes back applies the purges that it missed before it uses anything', async (t) => {
  const { edge, get, isHit, change, purge } = await start(t)
  await edge.leave()
  change()
  await purge()
  await edge.comeBack()
  assert.equal((await get()).text, 'version 2')
  await until(isHit)
  assert.equal((await get()).text, 'version 2')
})
