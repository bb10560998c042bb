import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploy, nodeServer } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

test('an app without visitors sleeps; the next visitor waits for it and is answered', async (t) => {
  const service = await startService(t, { settings: { HEADLAND_IDLE_TIMEOUT: '1' } })
  const as = await service.login()
  const { name, url } = await createEnvironment(service, as)
  const done = await deploy(service, as, name, nodeServer('awake'))
  const state = async () => (await service.call(`/v1/${done.metadata.deployment}`, { as })).json.instance.state
  await until(async () => (await state()) === 'ASLEEP', 'it sleeps')
  const answers = await Promise.all(Array.from({ length: 5 }, () => siteAnswer(service, url)))
  assert.deepEqual(
    answers.map(({ text }) => text),
    ['awake', 'awake', 'awake', 'awake', 'awake'],
  )
})
