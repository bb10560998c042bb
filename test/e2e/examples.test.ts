import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { deploy, filesIn, untilDone } from '../support/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/environment.ts'
import { startService, type TestService } from '../support/service.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url))

type Expected = {
  plan: unknown
  answers: { path: string; status: number; contains: string; header?: Record<string, string> }[]
}

/** A service that is started inside a test lives on to the end of the file. */
const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})

let service = await startService(file)
const as = await service.login()

async function answersAsExpected(on: TestService, url: string, { answers }: Expected) {
  for (const { path, status, contains, header = {} } of answers) {
    const answer = await siteAnswer(on, url, path)
    assert.equal(answer.status, status, `${path}: ${answer.text.slice(0, 200)}`)
    assert.ok(answer.text.includes(contains), `${path} has no ${contains}: ${answer.text.slice(0, 500)}`)
    for (const [name, value] of Object.entries(header))
      assert.ok(answer.headers[name]?.includes(value), `${path} ${name}`)
  }
}

const live: { name: string; environment: string; url: string; expected: Expected; deployment: string }[] = []

for (const name of ['static', 'node-server', 'vite', 'next']) {
  test(`examples/${name} is uploaded, built in the sandbox and answers as expected`, async () => {
    const expected: Expected = JSON.parse(await readFile(join(EXAMPLES, name, 'expect.json'), 'utf8'))
    const { name: environment, url } = await createEnvironment(service, as)
    const done = await deploy(service, as, environment, await filesIn(join(EXAMPLES, name)))
    const log = await service.call(`/v1/${done.metadata.build}/log`, { as })
    assert.equal(done.error, undefined, `${JSON.stringify(done.error)}\n${log.text}`)
    const build = await service.call(`/v1/${done.metadata.build}`, { as })
    assert.deepEqual(build.json.plan, expected.plan)
    assert.equal(build.json.state, 'SUCCEEDED')
    await answersAsExpected(service, url, expected)
    live.push({ name, environment, url, expected, deployment: done.metadata.deployment })
  })
}

test('after a restart of the service all of them answer as before', async () => {
  assert.equal(await service.stop(), 0)
  service = await startService(file, { dataDir: service.dataDir })
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
