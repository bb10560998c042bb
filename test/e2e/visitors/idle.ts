/** Apps that sleep while there are no visitors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploy, nodeServer } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { until } from '../../support/until.ts'
import { service } from './sleepy.ts'

const as = await service.login()

/** An app that has fallen asleep. */
async function asleep() {
  const { name, url } = await createEnvironment(service, as)
  const done = await deploy(service, as, name, nodeServer('awake'))
  const state = async () =>
    (await service.call(`/v1/${done.metadata.deployment}`, { as })).json.instance.state as string
  await until(async () => (await state()) === 'ASLEEP', 'it sleeps')
  return { name, url, state }
}

test('an app without visitors sleeps; the next visitor waits for it and is answered', async () => {
  const { url } = await asleep()
  const answers = await Promise.all(Array.from({ length: 5 }, () => siteAnswer(service, url)))
  assert.deepEqual(
    answers.map(({ text }) => text),
    ['awake', 'awake', 'awake', 'awake', 'awake'],
  )
})

test('a sleeping app is reported as asleep by a trace, and is not woken', async () => {
  const { name, state } = await asleep()
  for (let count = 0; count < 3; count++) {
    const { json } = await service.call(`/v1/${name}:trace?url=/`, { as })
    assert.equal(json.verdict, 'Nothing is stored for this address, and the app sleeps until the next visitor.')
    assert.equal(json.origin.kind, 'SILENT')
  }
  assert.equal(await state(), 'ASLEEP')
})
