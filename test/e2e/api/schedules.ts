/** Schedules over the API. `restart.ts` has one that is due while the service is down. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploy, page } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { service } from './service.ts'

const as = await service.login()
const { name } = await createEnvironment(service, as)
await deploy(service, as, name, page('the site'))
const path = `/v1/${name}/schedules`

const make = (body: object) => service.call(path, { method: 'POST', as, body })

test('a schedule is made, read, changed with its etag, listed and deleted', async () => {
  const { status, json: made } = await make({ action: 'REBUILD', cron: ' 30  3 * * * ', timeZone: 'Europe/Berlin' })
  assert.equal(status, 200)
  const { name: scheduleName, etag, nextTimes, createTime: _, updateTime: __, ...rest } = made
  assert.deepEqual(rest, {
    action: 'REBUILD',
    cron: '30 3 * * *',
    timeZone: 'Europe/Berlin',
    paused: false,
    lastOperation: '',
  })
  assert.equal(nextTimes.length, 5)
  assert.ok(
    nextTimes.every((time: string) => /T0[12]:30:00/.test(time)),
    nextTimes.join(),
  )

  const read = await service.call(`/v1/${scheduleName}`, { as })
  assert.deepEqual(read.json, made)
  assert.equal(read.headers.get('etag'), etag)

  const paused = await service.call(`/v1/${scheduleName}`, { method: 'PATCH', as, body: { paused: true, etag } })
  assert.deepEqual([paused.status, paused.json.nextTimes], [200, []])
  const stale = await service.call(`/v1/${scheduleName}`, { method: 'PATCH', as, body: { cron: '@daily', etag } })
  assert.deepEqual([stale.status, stale.json.error.details[0].reason], [409, 'ETAG_MISMATCH'])

  const { json: listed } = await service.call(path, { as })
  assert.deepEqual(listed.schedules, [paused.json])
  assert.equal((await service.call(`/v1/${scheduleName}`, { method: 'DELETE', as })).status, 200)
  const gone = await service.call(`/v1/${scheduleName}`, { as })
  assert.deepEqual([gone.status, gone.json.error.details[0].reason], [404, 'SCHEDULE_NOT_FOUND'])
})

test('what cron does not know is refused with the field that is wrong', async () => {
  const wrong = [
    { action: 'REBUILD', cron: '61 * * * *' },
    { action: 'REBUILD', cron: '@daily', timeZone: 'Mars/Olympus' },
    { action: 'DEPLOY', cron: '@daily' },
    { action: 'REBUILD', cron: 'x'.repeat(121) },
    { action: 'REBUILD', cron: '@daily', more: true },
  ]
  for (const body of wrong) {
    const { status, text } = await make(body)
    assert.equal(status, 400, text)
    assert.match(text, /cron|timeZone|action|more/)
  }
})

test('a viewer reads schedules, and changes none', async () => {
  const viewer = await service.login('viewer')
  const body = { action: 'REBUILD', cron: '@daily' }
  assert.equal((await service.call(path, { as: viewer })).status, 200)
  assert.equal((await service.call(path, { method: 'POST', as: viewer, body })).status, 403)
})
