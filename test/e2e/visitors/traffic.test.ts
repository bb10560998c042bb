/** Known visits lead to known counts, from the edge through the database to the API, on the real service. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, nodeServer, page } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { type Login, startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const service = await startService({ after })
const owner = await service.login('owner')

/** Asks the site over one connection, one request after the other, and returns how many bytes came. */
function visit(of: TestService, url: string, paths: readonly string[]): Promise<number> {
  const { host } = new URL(url)
  const { hostname, port } = new URL(of.edge)
  return new Promise((resolve, reject) => {
    let bytes = 0
    const socket = connect(Number(port), hostname)
    socket.on('data', (chunk) => {
      bytes += chunk.length
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(bytes))
    const last = paths.length - 1
    const requests = paths.map(
      (path, at) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${at === last ? 'Connection: close\r\n' : ''}\r\n`,
    )
    socket.write(requests.join(''))
  })
}

/** The edge sends its counts every few seconds. */
async function untilCounted(of: TestService, as: Login, name: string, requests: number): Promise<resources.Traffic> {
  return until(async () => {
    const { json, status, text } = await of.call(`/v1/${name}/traffic?range=1h`, { as })
    assert.equal(status, 200, text)
    return json.totals.requests >= requests && json
  }, `there were ${requests} requests`)
}

test('an environment without visitors shows points that are all zero', async () => {
  const { name } = await createEnvironment(service, owner)
  const shown: [string, number, number][] = [
    ['1h', 60, 60],
    ['24h', 600, 144],
    ['7d', 3600, 168],
    ['30d', 14_400, 180],
  ]
  for (const [range, stepSeconds, count] of shown) {
    const { json } = await service.call(`/v1/${name}/traffic?range=${range}`, { as: owner })
    assert.equal(json.name, `${name}/traffic`)
    assert.equal(json.stepSeconds, stepSeconds)
    assert.equal(json.points.length, count)
    assert.ok(json.points.every(({ requests, bytes }: { requests: number; bytes: number }) => requests + bytes === 0))
  }
  const byDefault = await service.call(`/v1/${name}/traffic`, { as: owner })
  assert.equal(byDefault.json.stepSeconds, 600)
  assert.equal((await service.call(`/v1/${name}/traffic?range=1y`, { as: owner })).reason, 'FIELD_INVALID')
})

test('files, pages of an app, stored ones and errors are counted once each, for their own environment', async () => {
  const files = await createEnvironment(service, owner)
  const app = await createEnvironment(service, owner)
  await deploy(service, owner, files.name, page('hello'))
  await deploy(
    service,
    owner,
    app.name,
    nodeServer(
      'answer',
      `if (request.url === '/stored') response.setHeader('cache-control', 's-maxage=600')
       if (request.url === '/fault') response.statusCode = 500`,
    ),
  )
  const urlOf = async (name: string) => (await service.call(`/v1/${name}`, { as: owner })).json.url
  const fileBytes = await visit(service, await urlOf(files.name), ['/', '/', '/absent'])
  const paths = ['/stored', ...Array(10).fill('/stored'), '/other', '/other', '/fault']
  let appBytes = 0
  // One after the other: concurrent requests wait for one fetch, and none of them is a hit.
  for (const path of paths) appBytes += await visit(service, await urlOf(app.name), [path])

  const ofFiles = await untilCounted(service, owner, files.name, 3)
  const ofApp = await untilCounted(service, owner, app.name, paths.length)
  const { p50Ms: _, p95Ms: __, ...fileCounts } = ofFiles.totals
  const { p50Ms, p95Ms, ...appCounts } = ofApp.totals
  const classes = { status2xx: 2, status3xx: 0, status4xx: 1, errors: 0 }
  assert.deepEqual(fileCounts, { requests: 3, hits: 3, bytes: fileBytes, ...classes })
  assert.deepEqual(appCounts, {
    requests: 14,
    hits: 10,
    bytes: appBytes,
    ...classes,
    status2xx: 13,
    status4xx: 0,
    errors: 1,
  })
  const pathsOf = async (name: string) => {
    const { json } = await service.call(`/v1/${name}/trafficPaths?range=1h`, { as: owner })
    return { isCounted: json.isCounted, top: json.top, missing: json.missing }
  }
  assert.deepEqual(await pathsOf(files.name), {
    isCounted: true,
    top: [{ path: '/', requests: 2 }],
    missing: [{ path: '/absent', requests: 1 }],
  })
  assert.deepEqual((await pathsOf(app.name)).top, [
    { path: '/stored', requests: 11 },
    { path: '/other', requests: 2 },
  ])
  assert.ok(p50Ms > 0 && p50Ms <= p95Ms)
  assert.equal(
    ofApp.points.reduce((all, { requests }) => all + requests, 0),
    14,
  )
})

test('a stop and a start lose nothing, and a killed edge counts nothing twice', async (t) => {
  const first = await startService(t)
  const as = await first.login()
  const { name, url } = await createEnvironment(first, as)
  await deploy(first, as, name, page('kept'))
  await visit(first, url, ['/', '/', '/'])
  // Without a pause: the edge sends its remaining counts when it stops.
  assert.equal(await first.stop(), 0)

  const topOf = async (of: TestService) => (await of.call(`/v1/${name}/trafficPaths?range=1h`, { as })).json
  const second = await startService(t, { dataDir: first.dataDir })
  assert.deepEqual((await topOf(second)).top, [{ path: '/', requests: 3 }])
  assert.equal((await untilCounted(second, as, name, 3)).totals.requests, 3)
  const { json } = await second.call(`/v1/${name}`, { as })
  await visit(second, json.url, ['/', '/'])
  await untilCounted(second, as, name, 5)
  process.kill(second.edgePid(), 'SIGKILL')
  await until(async () => (await second.call('/readyz')).status === 200)
  assert.equal((await untilCounted(second, as, name, 5)).totals.requests, 5)

  assert.equal(await second.stop(), 0)
  const third = await startService(t, { dataDir: first.dataDir, settings: { HEADLAND_COUNT_PATHS: 'false' } })
  const { isCounted, top } = await topOf(third)
  assert.deepEqual({ isCounted, top }, { isCounted: false, top: [] }, 'paths are deleted if they are not counted')
})
