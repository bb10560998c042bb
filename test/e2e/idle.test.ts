import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { deploy, nodeServer } from '../support/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/environment.ts'
import { startService } from '../support/service.ts'

test('an app without visitors sleeps; the next visitor waits for it and is answered', async (t) => {
  const service = await startService(t, { settings: { HEADLAND_IDLE_TIMEOUT: '1' } })
  const as = await service.login()
  const { name, url } = await createEnvironment(service, as)
  const done = await deploy(service, as, name, nodeServer('awake'))
  const state = async () => (await service.call(`/v1/${done.metadata.deployment}`, { as })).json.instance.state
  for (let tries = 0; (await state()) !== 'ASLEEP'; tries++) {
    assert.ok(tries < 300, 'it does not fall asleep')
    await wait(100)
  }
  const answers = await Promise.all(Array.from({ length: 5 }, () => siteAnswer(service, url)))
  assert.deepEqual(
    answers.map(({ text }) => text),
    ['awake', 'awake', 'awake', 'awake', 'awake'],
  )
})
