import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { clientEnvironment } from '../../config.ts'
import type { ClientCall, NameKind } from '../command.ts'
import { namesFor as namesWithin } from './names.ts'

/** Longer than a user waits, since the test machine may be busy. */
const foundFor = (kind: NameKind, call: ClientCall, typed: readonly string[]) => namesWithin(kind, call, typed, 60_000)
const namesFor = async (kind: NameKind, call: ClientCall, typed: readonly string[]) =>
  (await foundFor(kind, call, typed)).map(({ word }) => word)

const ID = '0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b'
const OTHER_ID = '0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6c'

type Manner = { isSilent?: boolean; more?: Record<string, unknown> }

async function startServer(t: TestContext, titles: readonly string[], { isSilent = false, more = {} }: Manner = {}) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    if (isSilent) return
    const environments = titles.map((displayName, index) => ({
      name: `accounts/acme/apps/shop/environments/${index === 0 ? ID : OTHER_ID}`,
      displayName,
    }))
    const answer = {
      accounts: [{ name: 'accounts/acme' }],
      apps: [{ name: 'accounts/acme/apps/shop' }],
      environments,
      ...more,
    }
    response.end(JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

async function callIn(t: TestContext, env: Record<string, string>): Promise<ClientCall> {
  const folder = await temporaryFolder(t)
  const environment = clientEnvironment({ HOME: join(folder, 'home'), ...env })
  const terminal = new Proxy({} as ClientCall['terminal'], {
    get: (_, name) => assert.fail(`nothing is printed or asked: ${String(name)}`),
  })
  return { positionals: [], options: {}, folder, environment, terminal }
}

const loggedIn = (url: string, user = 'u') => ({
  HEADLAND_URL: url,
  HEADLAND_API_USER: user,
  HEADLAND_API_PASSWORD: 'p',
})

test('names of accounts, apps and environments are completed, and ids where two have the same name', async (t) => {
  const { url } = await startServer(t, ['Production', 'Staging'])
  const call = await callIn(t, loggedIn(url))
  assert.deepEqual(await namesFor('accounts', call, []), ['acme'])
  assert.deepEqual(await namesFor('apps', call, []), ['shop'])
  assert.deepEqual(await namesFor('environments', call, []), ['Production', 'Staging'])
  const twins = await startServer(t, ['Twin', 'Twin'])
  assert.deepEqual(await namesFor('environments', await callIn(t, loggedIn(twins.url)), []), ['3e4f5a6b', '3e4f5a6c'])
})

test('builds and deployments are completed by short ids with a description, and by whole ids where two end alike', async (t) => {
  const at = `accounts/acme/apps/shop/environments/${ID}`
  const twin = ID.replace('1c2d', 'ffff')
  const createTime = new Date().toISOString()
  const builds = [OTHER_ID, ID, twin].map((id) => ({
    name: `${at}/builds/${id}`,
    state: 'FAILED',
    trigger: 'UPLOAD',
    createTime,
  }))
  const hostile = { state: 'LIVE\t\x1b[2J\nx', build: `${at}/builds/${ID}`, createTime }
  const deployments = [ID, ID].map((id) => ({ name: `${at}/deployments/${id}`, ...hostile }))
  const { url, asked } = await startServer(t, ['My Site'], { more: { builds, deployments } })
  const call = await callIn(t, loggedIn(url))
  assert.deepEqual(await foundFor('builds', call, ["headland builds show --env 'My Site' "]), [
    { word: '3e4f5a6c', about: 'FAILED, UPLOAD, just now' },
    { word: ID, about: 'FAILED, UPLOAD, just now' },
    { word: twin, about: 'FAILED, UPLOAD, just now' },
  ])
  assert.match(asked.at(-1) ?? '', /\/builds\?pageSize=50$/)
  const [one, ...others] = await foundFor('deployments', call, ['headland', 'x', '--env=My Site', ''])
  assert.deepEqual([one?.word, others], [ID, []], 'duplicates are left out')
  assert.doesNotMatch(one?.about ?? '', /[\p{Cc}\p{Cf}]/u)
})

test('what was typed decides where is looked, however a shell took it apart', async (t) => {
  const { url, asked } = await startServer(t, ['Production'])
  for (const typed of [
    ['headland', 'logs', '--account', 'acme', '--app', 'blog', '--env', 'Pr'],
    ['headland', 'logs', '--account=acme', '--app=blog', '--env'],
    ['headland logs --account acme --app = blog --env Pr'],
  ]) {
    const call = await callIn(t, loggedIn(url))
    asked.length = 0
    assert.deepEqual(await namesFor('environments', call, typed), ['Production'])
    assert.deepEqual(asked, ['/v1/accounts/acme/apps/blog/environments'])
  }
})

test('results are cached for a moment, readable by their owner alone, and for the same log-in', async (t) => {
  const { url, asked } = await startServer(t, ['Production'])
  const call = await callIn(t, loggedIn(url))
  await namesFor('apps', call, [])
  const before = asked.length
  assert.deepEqual(await namesFor('apps', call, []), ['shop'])
  assert.equal(asked.length, before)
  const file = join(call.environment.cacheFolder, 'headland', 'names.json')
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const other = { ...call.environment, apiUser: 'v' }
  await namesFor('apps', { ...call, environment: other }, [])
  assert.ok(asked.length > before)
  const between = asked.length
  await writeFile(file, '[{"key":1},null')
  assert.deepEqual(await namesFor('apps', call, []), ['shop'])
  assert.ok(asked.length > between)
})

test('a name that a shell or the command would take for something else is left out', async (t) => {
  for (const name of ['two\nlines', '--app', 'red \u001b[31m', 'back\u202eward', 'x'.repeat(300), '']) {
    const { url } = await startServer(t, [name, 'Good one'])
    assert.deepEqual(await namesFor('environments', await callIn(t, loggedIn(url)), []), ['Good one'])
  }
})

test('without a service that answers, or without a log-in, there are no names and no message', async (t) => {
  const silent = await startServer(t, [], { isSilent: true })
  assert.deepEqual(await namesWithin('apps', await callIn(t, loggedIn(silent.url)), [], 100), [])
  assert.deepEqual(await namesFor('apps', await callIn(t, loggedIn('http://127.0.0.1:1')), []), [])
  assert.deepEqual(await namesFor('apps', await callIn(t, {}), []), [])
})

test('a project of another person does not lead a completion to a service without a log-in', async (t) => {
  const { url, asked } = await startServer(t, [])
  const call = await callIn(t, { HEADLAND_API_USER: 'u', HEADLAND_API_PASSWORD: 'p' })
  await mkdir(join(call.folder, '.git'))
  await writeFile(join(call.folder, '.headland.json'), JSON.stringify({ url, account: 'acme', app: 'shop' }))
  assert.deepEqual(await namesFor('apps', call, []), [])
  assert.deepEqual(asked, [])
})
