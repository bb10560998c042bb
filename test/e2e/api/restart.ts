/** A stop and a start of the service, for those who follow changes and for schedules. After it the shared service is stopped. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statement } from '../../../src/storage/index.ts'
import { deploy, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { follow } from '../../support/service/events.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'
import { service } from './service.ts'

const owner = await service.login()
const { name: environment } = await createEnvironment(service, owner)
await deploy(service, owner, environment, page('the site'))
const body = { action: 'CLEAN_REBUILD', cron: '@hourly' }
const { json: made } = await service.call(`/v1/${environment}/schedules`, { method: 'POST', as: owner, body })

test('streams end properly when the service stops, and leave no connection that would delay it', async (t) => {
  const stream = await follow(t, service, { as: owner })
  await stream.until((events) => events.length > 0)
  assert.equal(await service.stop(), 0)
  await stream.ended
  assert.equal(stream.failure(), undefined)
  assert.equal(stream.headers.get('connection'), 'close')
})

test('a time that passed while the service was down is caught up once, by a build', async (t) => {
  const sql = await service.openSql()
  const longAgo = Date.now() - 72 * 60 * 60_000
  await sql.transaction((tx) => tx.query(statement`UPDATE schedules SET next_time = ${longAgo}`))
  await sql.close()

  const next = await startService(t, { dataDir: service.dataDir })
  const triggers = async () =>
    (await next.call(`/v1/${environment}/triggers`, { as: owner })).json.triggers.filter(
      ({ source }: { source: string }) => source === 'SCHEDULE',
    )
  const trigger = await until(async () => (await triggers())[0])
  assert.deepEqual([trigger.action, trigger.answer], ['CLEAN_REBUILD', 200])
  const operation = await untilDone(next, owner, trigger.operation)
  assert.equal(operation.error, undefined)
  assert.deepEqual(operation.metadata.requestedBy, { kind: 'SCHEDULE', name: '@hourly UTC' })
  const { json: ran } = await next.call(`/v1/${made.name}`, { as: owner })
  assert.equal(ran.lastOperation, trigger.operation)
  assert.ok(Date.parse(ran.nextTimes[0]) > Date.now())
  assert.equal((await triggers()).length, 1)
})
