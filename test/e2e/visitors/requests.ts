/** Known visits lead to known records, from the edge through the control process to the API, on the real service. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, nodeServer, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { follow } from '../../support/service/events.ts'
import type { Login, TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'
import { service } from './service.ts'

type RequestRecord = resources.RequestRecord

const owner = await service.login('owner')

const list = async (of: TestService, as: Login, name: string, query = ''): Promise<resources.RequestRecords> => {
  const { json, status, text } = await of.call(`/v1/${name}/requests${query}`, { as })
  assert.equal(status, 200, text)
  return json
}

async function listAll(of: TestService, as: Login, name: string): Promise<RequestRecord[]> {
  const all: RequestRecord[] = []
  for (let pageToken = ''; ; ) {
    const page = await list(of, as, name, `?pageSize=200&pageToken=${pageToken}`)
    all.push(...page.requests)
    pageToken = page.nextPageToken
    if (pageToken === '') return all
  }
}

/** Edges report once a second. The newest first. */
const untilRecorded = (of: TestService, as: Login, name: string, count: number): Promise<RequestRecord[]> =>
  until(async () => {
    const { requests } = await list(of, as, name, '?pageSize=200')
    return requests.length >= count && requests
  }, `${count} requests are recorded`)

const short = ({ method, path, status, cache, outcome }: RequestRecord) =>
  `${method} ${path} ${status} ${cache} ${outcome}`

const ANSWERS = `
  if (request.url.startsWith('/stored')) response.setHeader('cache-control', 's-maxage=600').setHeader('etag', '"1"')
  if (request.url === '/fault') { console.log('the cart is empty'); response.statusCode = 500 }
  if (request.url === '/broken') { response.write('begun'); return setImmediate(() => request.socket.destroy()) }
  if (request.url === '/endless') return void response.write('begun')`

const UPGRADES = `
  server.on('upgrade', (request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')
    socket.pipe(socket).on('error', () => undefined)
  })`

async function deployApp(of: TestService, as: Login) {
  const environment = await createEnvironment(of, as)
  const files = nodeServer('answer', ANSWERS)
  files['server.js'] += UPGRADES
  assert.equal((await deploy(of, as, environment.name, files)).error, undefined)
  return environment
}

/** Sends these bytes to the site, and returns what comes until it matches, or until the end. */
function exchange(
  of: TestService,
  url: string,
  head: string,
  wanted?: RegExp,
): Promise<{ text: string; socket: Socket }> {
  const { hostname, port } = new URL(of.edge)
  const socket = connect(Number(port), hostname)
  const end = wanted ? '' : 'Connection: close\r\n'
  socket.write(`${head}\r\nHost: ${new URL(url).host}\r\n${end}\r\n`)
  return new Promise((resolve, reject) => {
    let text = ''
    socket.on('error', reject)
    socket.on('close', () => resolve({ text, socket }))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (wanted?.test(text)) resolve({ text, socket })
    })
  })
}

test('visits of an app are listed with what each visitor got, the newest first', async () => {
  const { name, url } = await deployApp(service, owner)
  const sizes: number[] = []
  const heads = [
    'GET /stored?token=hunter2&page=3 HTTP/1.1',
    'GET /stored?token=hunter2&page=3 HTTP/1.1',
    'GET /stored?token=hunter2&page=3 HTTP/1.1\r\nIf-None-Match: "1"',
    'GET /fault HTTP/1.1',
    'POST /form HTTP/1.1\r\nContent-Length: 0',
    'GET /broken HTTP/1.1',
  ]
  for (const head of heads) sizes.push((await exchange(service, url, head)).text.length)
  const left = await exchange(service, url, 'GET /endless HTTP/1.1', /begun/)
  left.socket.destroy()
  const upgraded = await exchange(
    service,
    url,
    'GET /socket HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket',
    /\r\n\r\n/,
  )
  upgraded.socket.end()
  const requests = (await untilRecorded(service, owner, name, 8)).toReversed()
  assert.deepEqual(requests.slice(0, 6).map(short), [
    'GET /stored 200 miss complete',
    'GET /stored 200 hit complete',
    'GET /stored 304 hit complete',
    'GET /fault 500 miss complete',
    'POST /form 200 bypass complete',
    'GET /broken 200 miss broken',
  ])
  assert.deepEqual(
    requests.slice(0, 5).map(({ bytes }) => bytes),
    sizes.slice(0, 5),
  )
  assert.deepEqual(requests.slice(6).map(short).toSorted(), [
    'GET /endless 200 miss aborted',
    'GET /socket 101 bypass complete',
  ])
  assert.deepEqual(requests[0]?.parameters, ['token', 'page'])
  assert.doesNotMatch(JSON.stringify(requests), /hunter2/)
  for (const { client, durationMs, omitted, time } of requests) {
    assert.deepEqual([client, omitted, durationMs >= 0], ['127.0.0.0/24', 0, true])
    assert.ok(Math.abs(Date.now() - Date.parse(time)) < 600_000)
  }

  const errors = await list(service, owner, name, '?status=5xx')
  assert.deepEqual(errors.requests.map(short), ['GET /fault 500 miss complete'])
  assert.equal((await list(service, owner, name, '?path=/sto*&pageSize=2')).requests.length, 2)
  const first = await list(service, owner, name, '?path=/sto*&pageSize=2')
  const second = await list(service, owner, name, `?path=/sto*&pageSize=2&pageToken=${first.nextPageToken}`)
  assert.deepEqual([second.requests.length, second.nextPageToken], [1, ''])
  for (const query of ['?status=6xx', '?status=5xxx', '?pageToken=abc', `?path=${'x'.repeat(201)}`, '?unknown=1'])
    assert.equal((await service.call(`/v1/${name}/requests${query}`, { as: owner })).status, 400, query)
})

test('the id that a visitor got with an error leads to the request, on pages of the service too', async () => {
  const { name, url } = await deployApp(service, owner)
  const fault = await siteAnswer(service, url, '/fault')
  const late = await siteAnswer(service, url, '/x', { 'cache-control': 'only-if-cached' })
  const ids = [fault, late].map(({ headers }) => String(headers['headland-request-id']))
  assert.ok(late.text.includes(`Request id: ${ids[1]}`))
  await untilRecorded(service, owner, name, 2)
  for (const [id, path] of [
    [ids[0], '/fault'],
    [ids[1], '/x'],
  ]) {
    const { requests } = await list(service, owner, name, `?id=${id}`)
    assert.deepEqual(
      requests.map((one) => [one.path, one.id]),
      [[path, id]],
    )
  }
  assert.equal((await siteAnswer(service, url, '/')).headers['headland-request-id'], undefined)
})

test('files of a static site are listed, and a stream sends each visit as it ends, from where it was left', async (t) => {
  const { name, url } = await createEnvironment(service, owner)
  await deploy(service, owner, name, page('hello'))
  const seen = (events: readonly { event: string; data: string }[]): RequestRecord[] =>
    events.filter(({ event }) => event === 'request').map(({ data }) => JSON.parse(data))
  const stream = await follow(t, service, { as: owner }, `/v1/${name}/requests`)
  for (const path of ['/', '/', '/absent']) await siteAnswer(service, url, path)
  await stream.until((events) => seen(events).length === 3)
  assert.deepEqual(seen(stream.events).map(short), [
    'GET / 200 static complete',
    'GET / 200 static complete',
    'GET /absent 404 static complete',
  ])
  stream.close()
  const last = seen(stream.events).at(-1)?.number
  await siteAnswer(service, url, '/later')
  const resumed = await follow(t, service, { as: owner }, `/v1/${name}/requests?offset=${last}&status=4xx`)
  await resumed.until((events) => seen(events).length === 1)
  assert.deepEqual(seen(resumed.events).map(short), ['GET /later 404 static complete'])
  resumed.close()
})

test('a flood is recorded in part, which is said, and its errors are there', async () => {
  const { name, url } = await deployApp(service, owner)
  const { hostname, port } = new URL(service.edge)
  const { host } = new URL(url)
  await siteAnswer(service, url, '/stored')
  // Pipelined, so that far more arrive within a second than are recorded.
  const burst = (count: number) => `GET /stored HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(count)
  const socket = connect(Number(port), hostname)
  socket.write(`${burst(10_000)}GET /fault HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  socket.resume()
  await new Promise((resolve) => socket.once('close', resolve))
  const requests = await until(async () => {
    const found = await listAll(service, owner, name)
    return countOf(found) >= 10_002 && found
  }, 'all are recorded or counted')
  assert.ok(requests.some(({ path }) => path === '/fault'))
  assert.equal(countOf(requests), 10_002)
  // A slow machine takes more than a second for them, and records more.
  assert.ok(requests.length < 10_002)
})

/** With those that were not recorded. */
const countOf = (requests: readonly RequestRecord[]): number =>
  requests.reduce((sum, { omitted }) => sum + omitted + 1, 0)

test('what an environment recorded is gone with it', async () => {
  const { name, url } = await createEnvironment(service, owner)
  await siteAnswer(service, url, '/')
  await untilRecorded(service, owner, name, 1)
  const asked = await service.call(`/v1/${name}`, { method: 'DELETE', as: owner })
  await untilDone(service, owner, asked.json.name)
  assert.equal((await service.call(`/v1/${name}/requests`, { as: owner })).status, 404)
})

test('requests that end while the control process is away are listed when it is back', async () => {
  const { name, url } = await createEnvironment(service, owner)
  const old = service.controlPid()
  process.kill(old, 'SIGKILL')
  // What an edge reports to a process that is dying is lost, and counted.
  await until(() => !existsSync(`/proc/${old}`), 'the control process is gone')
  await siteAnswer(service, url, '/meanwhile')
  await until(() => isAnswering(service))
  const requests = await untilRecorded(service, owner, name, 1)
  assert.deepEqual(
    requests.map(({ path }) => path),
    ['/meanwhile'],
  )
})

const isAnswering = (of: TestService): Promise<boolean> =>
  new Promise((resolve) => {
    request(`${of.api}/readyz`, (response) => resolve(response.resume().statusCode === 200))
      .on('error', () => resolve(false))
      .end()
  })
