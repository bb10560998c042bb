/** Processes of the service die while the database is away: they come back, and go on by themselves with the database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NEEDS_POSTGRES, startPostgres } from '../../support/postgres/server.ts'
import { deploy, nodeServer, page } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { processesOf, type Role } from '../../support/service/processes.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

test('each process that is killed while the database is away comes back', NEEDS_POSTGRES, async (t) => {
  const server = await startPostgres(t)
  const settings = { HEADLAND_DATABASE_URL: await server.createDatabase() }
  const service = await startService(t, { settings })
  const as = await service.login()
  const [site, app] = [await createEnvironment(service, as), await createEnvironment(service, as)]
  assert.equal((await deploy(service, as, site.name, page('a page'))).error, undefined)
  assert.equal((await deploy(service, as, app.name, nodeServer('an app'))).error, undefined)
  const textAt = (url: string) => siteAnswer(service, url).then(({ text }) => text, String)

  async function kill(role: Role) {
    const pid = processesOf(service.pid)[role]
    assert.ok(pid)
    process.kill(pid, 'SIGKILL')
    await until(() => {
      const now = processesOf(service.pid)[role]
      return now !== undefined && now !== pid
    }, `there is another process of ${role}`)
  }

  await server.stop()
  await kill('control')
  assert.match(await textAt(site.url), /a page/)
  assert.equal(await textAt(app.url), 'an app')
  await kill('edge')
  await until(async () => /a page/.test(await textAt(site.url)), 'the page is shown again, without the database')
  await until(async () => (await textAt(app.url)) === 'an app', 'the app is reached again, without the database')

  await server.start()
  await until(async () => (await service.call('/readyz').catch(() => undefined))?.status === 200, 'it is ready')
  await server.stop()
  await until(async () => (await service.call(`/v1/${app.name}`, { as })).status === 503, 'the loss is noticed')
  await kill('agent')
  await until(() => /apps are started again when the database is back/.test(service.log()), 'the agent is found')
  await server.start()
  await until(async () => (await textAt(app.url)) === 'an app', 'the app is started again')
  assert.equal((await deploy(service, as, app.name, nodeServer('another one'))).error, undefined)
  assert.equal(await textAt(app.url), 'another one')
})
