import assert from 'node:assert/strict'
import { test } from 'node:test'
import { untilDone } from '../../support/service/deploy.ts'
import { siteAnswer } from '../../support/service/environment.ts'
import { answersAsExpected, type Deployed, deployExample } from '../../support/service/examples.ts'
import { restart, service } from './service.ts'

/** Those without a framework, whose builds take minutes: `npm run test:frameworks` has them all. */
const SHORT_SET = ['static', 'node-server', 'welcome']

const as = await service.login()
const live: Deployed[] = []

for (const name of SHORT_SET) {
  test(`examples/${name} is uploaded, built in the sandbox and answers as expected`, async () => {
    live.push(await deployExample(service, as, name))
  })
}

test('after a restart of the service all of them answer as before', async () => {
  await restart('stop')
  for (const { environment, expected } of live) {
    const { json } = await service.call(`/v1/${environment}`, { as })
    await answersAsExpected(service, json.url, expected)
  }
})

test('after a change of a variable the app runs with the new value, without a build', async () => {
  const { environment, expected } = live.find(({ name }) => name === 'node-server') ?? assert.fail()
  const asked = await service.call(`/v1/${environment}`, {
    method: 'PATCH',
    as,
    body: { shellVariables: [{ key: 'GREETING', value: 'Good evening' }] },
  })
  const done = await untilDone(service, as, asked.json.name)
  assert.equal(done.error, undefined)
  assert.match(done.metadata.build, /\/no_build$/)
  const { json } = await service.call(`/v1/${environment}`, { as })
  assert.match((await siteAnswer(service, json.url)).text, /Good evening/)
  assert.ok(expected.answers.length > 0)
})

test('after activate the older deployment answers again', async () => {
  const { environment, expected, deployment } = live.find(({ name }) => name === 'node-server') ?? assert.fail()
  const asked = await service.call(`/v1/${deployment}:activate`, { method: 'POST', as })
  const done = await untilDone(service, as, asked.json.name)
  assert.equal(done.error, undefined)
  assert.equal(done.metadata.deployment, deployment)
  const { json } = await service.call(`/v1/${environment}`, { as })
  assert.equal(json.deployment, deployment)
  await answersAsExpected(service, json.url, expected)
})
