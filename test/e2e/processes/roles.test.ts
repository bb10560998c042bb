/** The roles of one service can run under several commands, each with a life of its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, nodeServer } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

test('sites go on while the command that runs the control process is killed and started again', async (t) => {
  const dataDir = await temporaryFolder(t)
  const sites = await startService(t, { dataDir, settings: { HEADLAND_ROLES: 'agent,edge' } })
  const startControl = () =>
    startService(t, {
      dataDir,
      settings: { HEADLAND_ROLES: 'control', HEADLAND_EDGE_LISTEN: new URL(sites.edge).host },
    })
  const control = await startControl()
  const as = await control.login()
  const environment = await createEnvironment(control, as)
  const files = nodeServer('one', 'return response.end(String(globalThis.started ??= Math.random()))')
  assert.equal((await deploy(control, as, environment.name, files)).error, undefined)
  const started = (await siteAnswer(sites, environment.url)).text

  process.kill(control.pid, 'SIGKILL')
  assert.equal((await siteAnswer(sites, environment.url)).text, started)
  const next = await startControl()
  assert.equal((await next.call(`/v1/${environment.name}`, { as })).json.state, 'LIVE')
  assert.equal((await siteAnswer(sites, environment.url)).text, started)
})

test('an app that sleeps wakes for a visitor while there is no control process', async (t) => {
  const dataDir = await temporaryFolder(t)
  const settings = { HEADLAND_ROLES: 'agent,edge', HEADLAND_IDLE_TIMEOUT: '5', HEADLAND_SLEEP_MEMORY: '0' }
  const sites = await startService(t, { dataDir, settings })
  const control = await startService(t, {
    dataDir,
    settings: { HEADLAND_ROLES: 'control', HEADLAND_EDGE_LISTEN: new URL(sites.edge).host },
  })
  const as = await control.login()
  const environment = await createEnvironment(control, as)
  const done = await deploy(control, as, environment.name, nodeServer('awake'))
  await until(async () => {
    const { json } = await control.call(`/v1/${done.metadata.deployment}`, { as })
    return json.instance?.state === 'ASLEEP'
  }, 'the app sleeps')
  assert.equal(await control.stop(), 0)
  assert.equal((await siteAnswer(sites, environment.url)).text, 'awake')
})

test('a role that already runs on the data folder is refused', async (t) => {
  const { dataDir } = await startService(t, { settings: { HEADLAND_ROLES: 'agent,edge' } })
  const second = startService(t, { dataDir, settings: { HEADLAND_ROLES: 'edge' } })
  await assert.rejects(second, /is in use by another service/)
})
