import assert from 'node:assert/strict'
import { appendFile, mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { createRouteTable } from '../route-table.ts'
import type { EnvironmentRoutes } from '../routes.ts'
import { createSavedRoutes } from './saved-routes.ts'

const fileOf = async (t: TestContext) => join(await temporaryFolder(t), 'routes.log')

const routesOf = (environment: string, ...hosts: string[]): EnvironmentRoutes => ({
  environment,
  hosts: Object.fromEntries(hosts.map((host) => [host, { kind: 'empty', environment }])),
})

function recorder(file: string) {
  const table = createRouteTable()
  const saved = createSavedRoutes(file)
  return (...routes: EnvironmentRoutes[]) => {
    table.setRoutes(routes)
    return saved.change(routes, table)
  }
}

test('the newest routes of each environment are loaded, and none of one that has no hosts any more', async (t) => {
  const file = await fileOf(t)
  assert.deepEqual(await createSavedRoutes(file).load(), [])
  const record = recorder(file)
  await record(routesOf('e1', 'a'), routesOf('e2', 'b'), routesOf('e3', 'c'))
  await record(routesOf('e1', 'a', 'www'))
  await record(routesOf('e2'))
  assert.deepEqual(await createSavedRoutes(file).load(), [routesOf('e1', 'a', 'www'), routesOf('e3', 'c')])
})

test('who may see an environment is loaded with its hosts, and no other user can read the file', async (t) => {
  const file = await fileOf(t)
  const access = { isHidden: true, protection: { password: { hash: 'h', cookieKey: 'k' }, addresses: ['::1'] } }
  const routes = { ...routesOf('e1', 'a'), access }
  await recorder(file)(routes)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.deepEqual(await createSavedRoutes(file).load(), [routes])
  await createSavedRoutes(file).replace([routes])
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.deepEqual(await createSavedRoutes(file).load(), [routes])
})

test('a line that was cut off loses nothing but itself', async (t) => {
  const file = await fileOf(t)
  await recorder(file)(routesOf('e1', 'a'))
  await appendFile(file, '{"environment":"e2","hosts":{"b":{"kind":"emp')
  assert.deepEqual(await createSavedRoutes(file).load(), [routesOf('e1', 'a')])
})

test('after a change that could not be saved, the next one saves both', async (t) => {
  const folder = join(await temporaryFolder(t), 'not-yet')
  const file = join(folder, 'routes.log')
  const record = recorder(file)
  await assert.rejects(record(routesOf('e1', 'a')), { code: 'ENOENT' })
  await mkdir(folder)
  await appendFile(file, '{"environment":"e1","hosts":{"a":{"kind":"emp')
  await record(routesOf('e2', 'b'))
  await record(routesOf('e3', 'c'))
  assert.deepEqual(await createSavedRoutes(file).load(), [
    routesOf('e1', 'a'),
    routesOf('e2', 'b'),
    routesOf('e3', 'c'),
  ])
})

test('the file is written anew when most of its lines are outdated', async (t) => {
  const file = await fileOf(t)
  const record = recorder(file)
  for (let round = 0; round < 1100; round++) await record(routesOf('e1', `host-${round}`))
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  assert.ok(lines.length < 200, `${lines.length} lines`)
  assert.deepEqual(JSON.parse(lines.at(-1) ?? ''), routesOf('e1', 'host-1099'))
})
