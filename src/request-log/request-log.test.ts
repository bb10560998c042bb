import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { until } from '../../test/support/until.ts'
import { createLog, systemClock } from '../base/index.ts'
import { createLineLogs } from '../storage/index.ts'
import { createRequestLog, forgetRequestLogs, type ReportedRequest, requestLogName } from './request-log.ts'

const DAY_MS = 86_400_000

async function setUp(t: TestContext, maxBytes = 1_000_000) {
  const { sql, accounts, apps, environments, newId } = await openCoreModules(t)
  const account = await accounts.create('agency')
  const app = await apps.create(account.id, 'shop', 'regions/UK')
  const draft = { displayName: 'x', branch: 'uploadable', cmsEnvironment: 'x', rootDirectory: '', variables: [] }
  async function addEnvironment() {
    const id = newId()
    await sql.transaction((tx) => environments.insert(tx, { id: app.id, accountId: account.id }, id, draft))
    return id
  }
  const id = await addEnvironment()
  const logs = createLineLogs(await temporaryFolder(t))
  // The storage has the clock of the machine.
  const parts = { sql, clock: systemClock, log: createLog('silent'), logs, maxBytes, maxAgeMs: 7 * DAY_MS }
  const open = () => createRequestLog({ ...parts, existingEnvironments: environments.existing })
  return { id, addEnvironment, logs, open, newId }
}

const request = (path: string, more: Partial<ReportedRequest> = {}): ReportedRequest => ({
  time: Date.now(),
  method: 'GET',
  path,
  status: 200,
  durationMs: 1.5,
  bytes: 100,
  cache: 'miss',
  outcome: 'complete',
  ...more,
})

test('reports are listed newest first, by page and by filter, also after a restart', async (t) => {
  const { id, open } = await setUp(t)
  const first = open()
  first.receive({ [id]: [request('/a'), request('/b', { status: 500, id: 'x' }), request('/c')] })
  await first.stop()
  const second = open()
  second.receive({ [id]: [request('/d'), request('/e', { status: 503 })] })
  await second.stop()
  const third = open()
  const list = async (filter = {}, page: { size: number; before?: number } = { size: 10 }) => {
    const { requests, isMore } = await third.list(id, filter, page)
    return [requests.map(({ path }) => path).join(' '), isMore]
  }
  assert.deepEqual(await list(), ['/e /d /c /b /a', false])
  assert.deepEqual(await list({ status: '5xx' }), ['/e /b', false])
  assert.deepEqual(await list({ path: '/[a-c]' }), ['', false])
  assert.deepEqual(await list({ path: '/b*' }), ['/b', false])
  assert.deepEqual(await list({ id: 'x' }), ['/b', false])
  assert.deepEqual(await list({}, { size: 2 }), ['/e /d', true])
  const { requests } = await third.list(id, {}, { size: 2 })
  assert.deepEqual(await list({}, { size: 3, before: requests[1]?.number ?? 0 }), ['/c /b /a', false])
})

test('what looks like a secret or a person is masked before it is written', async (t) => {
  const { id, open, logs } = await setUp(t)
  const log = open()
  const token = '9f86d081884c7d659a2feaa0c55ad015'
  log.receive({ [id]: [request(`/reset/${token}`, { parameters: [token, 'page'] }), request('/u/jane@example.com')] })
  await log.stop()
  const { requests } = await log.list(id, {}, { size: 10 })
  assert.deepEqual(
    requests.map(({ path, parameters }) => [path, parameters]),
    [
      ['/u/{email}', undefined],
      ['/reset/{token}', ['{token}', 'page']],
    ],
  )
  assert.doesNotMatch(JSON.stringify(await logs.read(requestLogName(id), 0)), /9f86d|jane/)
})

test('a follower gets what is there, and then each request that it wants', async (t) => {
  const { id, open } = await setUp(t)
  const log = open()
  log.receive({ [id]: [request('/a', { status: 500 }), request('/b')] })
  const stopping = new AbortController()
  const seen: string[] = []
  const following = (async () => {
    for await (const { path } of log.follow(id, { status: '5xx' }, { after: 0, signal: stopping.signal }))
      seen.push(path)
  })()
  await until(() => seen.length === 1)
  log.receive({ [id]: [request('/c'), request('/d', { status: 502 })] })
  await until(() => seen.length === 2)
  stopping.abort()
  await following
  assert.deepEqual(seen, ['/a', '/d'])
  await log.stop()
})

test('requests of an environment that does not exist any more are not written', async (t) => {
  const { id, open, logs, newId } = await setUp(t)
  const log = open()
  log.receive({ [newId()]: [request('/a')], [id]: [request('/b')] })
  await log.stop()
  assert.deepEqual(await logs.list('requests'), [requestLogName(id)])
})

test('requests are not shown when they are too old, before they are removed from the disk', async (t) => {
  const { id, open } = await setUp(t)
  const log = open()
  log.receive({ [id]: [request('/old', { time: Date.now() - 8 * DAY_MS }), request('/new')] })
  await log.stop()
  const { requests } = await log.list(id, {}, { size: 10 })
  assert.deepEqual(
    requests.map(({ path }) => path),
    ['/new'],
  )
})

test('a flood that the disk does not follow is counted, and the log stays within its bytes', async (t) => {
  const { id, open, logs } = await setUp(t, 20_000)
  const log = open()
  const flood = Array.from({ length: 5000 }, (_, number) => request(`/${number}`))
  log.receive({ [id]: flood })
  await until(async () => (await logs.bytesOf(requestLogName(id))) > 0)
  log.receive({ [id]: [request('/last', { omitted: 3 })] })
  await log.stop()
  const { requests } = await log.list(id, {}, { size: 10 })
  assert.equal(requests[0]?.path, '/last')
  assert.ok((requests[0]?.omitted ?? 0) > 4000)
  assert.ok((await logs.bytesOf(requestLogName(id))) <= 20_000)
})

test('however many environments have visitors, few files are open, and each record is there in order', async (t) => {
  const { addEnvironment, open, logs } = await setUp(t)
  const ids: string[] = []
  for (let count = 0; count < 300; count++) ids.push(await addEnvironment())
  const log = open()
  for (let round = 0; round < 3; round++) log.receive(Object.fromEntries(ids.map((id) => [id, [request(`/${round}`)]])))
  const total = async () => {
    const counts = await Promise.all(ids.map(async (id) => (await logs.read(requestLogName(id), 0)).length))
    return counts.reduce((sum, count) => sum + count, 0)
  }
  await until(async () => (await total()) === 900, 'all are written')
  await log.stop()
  for (const id of ids) {
    const { requests } = await log.list(id, {}, { size: 10 })
    assert.deepEqual(
      requests.map(({ path }) => path),
      ['/2', '/1', '/0'],
    )
    assert.equal(new Set(requests.map(({ number }) => number)).size, 3)
  }
})

test('when it is switched off, what was recorded is removed', async (t) => {
  const { id, open, logs } = await setUp(t)
  const log = open()
  log.receive({ [id]: [request('/a')] })
  await log.stop()
  await forgetRequestLogs(logs)
  assert.deepEqual(await logs.list('requests'), [])
})
