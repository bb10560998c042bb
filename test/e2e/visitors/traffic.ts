/** Known visits lead to known counts, from the edge through the database to the API, on the real service. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, nodeServer, page } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import type { Login, TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'
import { service } from './service.ts'

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

test('the summaries of an account are read page by page, and have no environment without visitors', async () => {
  const quiet = await createEnvironment(service, owner)
  const found: resources.TrafficSummary[] = []
  let pages = 0
  for (let token = ''; pages === 0 || token !== ''; pages++) {
    const path = `/v1/accounts/default/trafficSummaries?pageSize=1&pageToken=${token}`
    const { json, status, text } = await service.call(path, { as: owner })
    assert.equal(status, 200, text)
    found.push(...json.trafficSummaries)
    token = json.nextPageToken
  }
  assert.ok(pages > 1)
  assert.ok(found.every(({ environment }) => environment !== quiet.name))
  const other = await service.call('/v1/accounts/default/trafficSummaries?pageToken=bm9uZQ', { as: owner })
  assert.equal(other.reason, 'PAGE_TOKEN_INVALID')
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
  const { json } = await service.call('/v1/accounts/default/trafficSummaries?pageSize=200', { as: owner })
  const lastDay = (json.trafficSummaries as resources.TrafficSummary[]).find(
    ({ environment }) => environment === app.name,
  )
  const sum = (hours: readonly number[] = []) => hours.reduce((all, hour) => all + hour, 0)
  assert.deepEqual([lastDay?.requests, lastDay?.hits, lastDay?.errors].map(sum), [14, 10, 1])
  assert.equal(
    ofApp.points.reduce((all, { requests }) => all + requests, 0),
    14,
  )
})

test('one list has what every environment of an account does now, and a viewer may read it', async () => {
  const [files, empty] = [await createEnvironment(service, owner), await createEnvironment(service, owner)]
  const app = await createEnvironment(service, owner)
  await deploy(service, owner, files.name, page('hello'))
  await deploy(service, owner, app.name, nodeServer('answer'))
  const { url } = (await service.call(`/v1/${app.name}`, { as: owner })).json
  const viewer = await service.login('viewer')
  const activityOf = async (name: string): Promise<resources.Activity> => {
    const { json, text } = await service.call('/v1/accounts/default/activity?pageSize=200', { as: viewer })
    const found = json.activity.find((one: resources.Activity) => one.name === `${name}/activity`)
    assert.ok(found, text)
    return found
  }
  // Two minutes are shown, and a test may take longer: so it is visited until a visit is seen.
  const visited = await until(async () => {
    await visit(service, url, ['/'])
    const found = await activityOf(app.name)
    return found.points.some(({ requests }) => requests > 0) && found.memoryBytes > 0 && found
  }, 'the visits and the memory of the app are shown')
  const { deployment } = (await service.call(`/v1/${app.name}`, { as: owner })).json
  const { liveTime } = (await service.call(`/v1/${deployment}`, { as: owner })).json
  assert.deepEqual(
    [visited.deployment, visited.liveTime, visited.instance, visited.commit, visited.points.length],
    [deployment, liveTime, 'RUNNING', null, 2],
  )
  const { memoryBytes, instance } = await activityOf(files.name)
  assert.deepEqual([memoryBytes, instance], [0, undefined], 'files have no process')
  const nothing = await activityOf(empty.name)
  assert.deepEqual([nothing.deployment, nothing.liveTime, nothing.points.at(-1)?.requests], ['', undefined, 0])
})
