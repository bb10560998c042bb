import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { rounds } from '../../support/long.ts'
import { untilDone } from '../../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { processesOf } from '../../support/service/processes.ts'
import { startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const ROUNDS = rounds({ short: 2, long: 50 })
const BODY = { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms' }

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})

/** The same for all tests: those that kill it start it again, except the last one. */
let service: TestService = await startService(file)

test(`kill -9 at ${ROUNDS} random moments loses no acknowledged environment and leaves none stuck`, async () => {
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
    service = await startService(file, { dataDir })
  }

  for (const name of acknowledged) {
    const done = await untilDone(service, as, name)
    assert.equal(done.response?.reconciling, false)
    assert.match((await siteAnswer(service, String(done.response?.url))).text, /Nothing deployed yet/)
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

test('an edge that is killed comes back on its port with its routes, while the API stays up', async () => {
  const as = await service.login()
  const environment = await createEnvironment(service, as)
  process.kill(service.edgePid(), 'SIGKILL')
  const answer = () => siteAnswer(service, environment.url).catch(() => undefined)
  await until(async () => (await answer())?.text.includes('Nothing deployed yet'), 'the edge is back')
  await createEnvironment(service, as)
})

test('when the process that supervises the others is killed, they end too', async () => {
  const pids = Object.values(processesOf(service.pid))
  assert.equal(pids.length, 3)
  await service.kill()
  await until(() => !pids.some(isAlive), 'all of them are gone')
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
