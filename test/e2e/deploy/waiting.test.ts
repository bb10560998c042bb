/** Builds that wait for others say so, and uploads of files alone do not wait for builds that run a program. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, reasonOf, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { heldBuild, untilHeld } from '../../support/service/held-build.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
const service = await startService(scope, { settings: { HEADLAND_CONCURRENCY: '1' } })
const as = await service.login()
after(async () => {
  for (const end of ends) await end()
})

const page = (text: string) => ({ 'index.html': `<p>${text}</p>` })
const read = async (name: string) => (await service.call(`/v1/${name}`, { as })).json

test('files overtake a build of another app; a waiting build says for what it waits, and can be superseded and cancelled', async () => {
  const [busy, files, other] = [
    await createEnvironment(service, as),
    await createEnvironment(service, as),
    await createEnvironment(service, as),
  ]
  const held = (await upload(service, as, busy.name, heldBuild('waiting', 'held'))).json
  const build = await untilHeld('waiting')

  const done = await deploy(service, as, files.name, page('it passed'))
  assert.equal(done.error, undefined)
  assert.match((await siteAnswer(service, files.url)).text, /it passed/)
  assert.equal((await read(held.name)).done, false)
  assert.equal(reasonOf(await deploy(service, as, files.name, { 'notes.txt': 'nothing' })), 'PLAN_FAILED')

  const older = (await upload(service, as, other.name, heldBuild('waiting-too', 'older'))).json
  const waiting = await until(async () => {
    const { metadata } = await read(older.name)
    return metadata.waiting?.reason === 'MACHINE' && metadata
  })
  assert.deepEqual(waiting.waiting, {
    reason: 'MACHINE',
    ahead: 1,
    message: 'Waiting for 1 build ahead of it on this machine.',
  })
  assert.equal(waiting.phase, 'QUEUED')
  const found = await read(older.metadata.build)
  assert.deepEqual([found.state, found.waiting], ['QUEUED', waiting.waiting])

  const second = (await upload(service, as, busy.name, page('second'))).json
  assert.equal((await read(second.name)).metadata.waiting.reason, 'ENVIRONMENT')

  const { operations, nextPageToken } = await read('accounts/default/runningOperations')
  assert.deepEqual(
    operations.map(({ name, metadata }: resources.Operation) => [name, metadata.phase === 'QUEUED', metadata.build]),
    [
      [second, true],
      [older, true],
      [held, false],
    ].map(([{ name, metadata }, waits]) => [name, waits, metadata.build]),
  )
  assert.equal(nextPageToken, '')

  const newer = (await upload(service, as, other.name, heldBuild('waiting-too', 'newer'))).json
  assert.equal(reasonOf(await untilDone(service, as, older.name)), 'SUPERSEDED')
  await service.call(`/v1/${newer.name}:cancel`, { method: 'POST', as })
  assert.equal(reasonOf(await untilDone(service, as, newer.name)), 'OPERATION_CANCELLED')

  await build.goOn()
  assert.equal((await untilDone(service, as, held.name)).error, undefined)
  assert.equal((await untilDone(service, as, second.name)).error, undefined)
  assert.match((await siteAnswer(service, busy.url)).text, /second/)
})
