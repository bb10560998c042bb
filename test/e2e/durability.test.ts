import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createApp, createEnvironment, siteAnswer } from '../support/environment.ts'
import { rounds } from '../support/long.ts'
import { startService, type TestService } from '../support/service.ts'

const ROUNDS = rounds({ short: 8, long: 50 })
const BODY = { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms' }

test(`kill -9 at ${ROUNDS} random moments loses no acknowledged environment and leaves none stuck`, async (t) => {
  let service = await startService(t)
  const { dataDir } = service
  const as = await service.login()
  const app = await createApp(service, as)
  const path = `/v1/accounts/default/apps/${app}/environments`
  const acknowledged: string[] = []

  for (let round = 0; round < ROUNDS; round++) {
    let killed: Promise<unknown> | undefined
    for (let asked = 0; asked < 20; asked++) {
      const answer = await service.call(path, { method: 'POST', as, body: BODY }).catch(() => undefined)
      if (!answer) break
      assert.equal(answer.status, 200, answer.text)
      acknowledged.push(answer.json.name)
      // The moment is counted from the first answer, so that a busy machine has acknowledged something by then.
      killed ??= wait(Math.random() * 300).then(() => service.kill())
    }
    await killed
    service = await startService(t, { dataDir })
  }

  for (const name of acknowledged) {
    const done = await untilDone(service, name, as)
    assert.equal(done.response.reconciling, false)
    assert.match((await siteAnswer(service, done.response.url)).text, /Nothing deployed yet/)
  }
  const listed: string[] = []
  for (let pageToken = ''; ; ) {
    const page = await service.call(`${path}?pageSize=200&pageToken=${pageToken}`, { as })
    listed.push(...page.json.environments.map(({ name }: { name: string }) => name))
    pageToken = page.json.nextPageToken
    if (!pageToken) break
  }
  for (const name of acknowledged) assert.ok(listed.includes(name.split('/operations/')[0] ?? ''))
  assert.ok(acknowledged.length > 0)
})

/** A lease of a killed process runs out after 30 seconds; :wait holds for at most a minute. */
async function untilDone(service: TestService, name: string, as: Parameters<typeof createEnvironment>[1]) {
  for (let tries = 0; tries < 3; tries++) {
    const { json } = await service.call(`/v1/${name}:wait?timeout=60s`, { method: 'POST', as })
    if (json.done) return json
  }
  throw new Error(`${name} is stuck`)
}

test('an edge that is killed comes back on its port with its routes, while the API stays up', async (t) => {
  const service = await startService(t)
  const as = await service.login()
  const environment = await createEnvironment(service, as)
  process.kill(service.edgePid(), 'SIGKILL')
  for (let tries = 0; ; tries++) {
    const answer = await siteAnswer(service, environment.url).catch(() => undefined)
    if (answer?.text.includes('Nothing deployed yet')) break
    assert.ok(tries < 200, 'the edge did not come back')
    await wait(50)
  }
  await createEnvironment(service, as)
})

test('when the service is killed, its edge ends too', async (t) => {
  const service = await startService(t)
  const pid = service.edgePid()
  await service.kill()
  for (let tries = 0; isAlive(pid); tries++) {
    assert.ok(tries < 200, 'the edge outlived the service')
    await wait(50)
  }
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
