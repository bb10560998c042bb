/** `headland logs --requests`: from the error of a visitor to what the app wrote. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, nodeServer } from '../../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))

const folder = await temporaryFolder({ after })
const service = await startService({ after })
const as = await service.login('viewer')
const developer = await service.login('developer')
const app = await createApp(service, developer, { app: 'shop' })
const { name, url } = await createEnvironment(service, developer, { app })
await deploy(
  service,
  developer,
  name,
  nodeServer('hello', `if (request.url === '/checkout') { console.log('no cart'); response.statusCode = 500 }`),
)

function start(...args: string[]) {
  const login = { HEADLAND_URL: service.api, HEADLAND_API_USER: as.userId, HEADLAND_API_PASSWORD: as.password }
  const child = spawn(process.execPath, [HEADLAND, 'logs', ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...login },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return child
}

async function logs(...args: string[]) {
  const child = start(...args)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, stdout, stderr }
}

const recorded = async (count: number): Promise<boolean> => {
  const { json } = await service.call(`/v1/${name}/requests`, { as })
  return json.requests.length >= count
}

const fault = await siteAnswer(service, url, '/checkout')
const id = String(fault.headers['headland-request-id'])
for (const path of ['/blog/one?q=hunter2', '/blog/two']) await siteAnswer(service, url, path)
await until(() => recorded(3), 'three requests are recorded')

test('requests are printed, the newest last, and filtered by status and path', async () => {
  const all = await logs('--requests')
  assert.equal(all.code, 0, all.stderr)
  const lines = all.stdout.trim().split('\n')
  assert.deepEqual(
    lines.map((line) => /^\S+ {2}(\d{3}) {2}GET {3}miss +\d+ ms +[\d.]+ K?B {2}(\S+)/.exec(line)?.slice(1)),
    [
      ['500', '/checkout'],
      ['200', '/blog/one?q=…'],
      ['200', '/blog/two'],
    ],
  )
  assert.ok(lines[0]?.endsWith(`id=${id}`))
  assert.doesNotMatch(all.stdout, /hunter2/)
  assert.match(all.stderr, new RegExp(`--id ${id}`))
  assert.equal((await logs('-r', '--status', '5xx')).stdout.trim().split('\n').length, 1)
  assert.equal((await logs('-r', '--path', '/blog*', '-n', '1')).stdout.trim().split('\n').length, 1)
  const [first, ...others] = (await logs('-r', '--path', '/blog/*', '--json')).stdout.trim().split('\n')
  assert.equal(others.length, 1)
  const { path, parameters, status, cache, client } = JSON.parse(first ?? '')
  assert.deepEqual([path, parameters, status, cache, client], ['/blog/one', ['q'], 200, 'miss', '127.0.0.0/24'])
})

test('the id of an error leads to the request and to what the app wrote; an unknown one is an error', async () => {
  const { code, stdout, stderr } = await logs('--requests', '--id', id)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /request +GET \/checkout/)
  assert.match(stdout, /status +500/)
  assert.match(stdout, /The app's log at that time:\n(.*\n)*.* no cart/)
  assert.match(stderr, /headland trace \/checkout/)
  const unknown = await logs('--requests', '--id', '0000000000000000')
  assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
})

test('with -f it goes on with each new request that matches, until it is interrupted', async () => {
  const child = start('--requests', '-f', '--path', '/live*')
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    stdout += piece
  })
  const closed = once(child, 'close')
  // Visits until one is shown: when the command follows is not visible from outside.
  await until(async () => {
    await siteAnswer(service, url, '/other')
    await siteAnswer(service, url, '/live/1')
    return stdout.includes('/live/1')
  }, 'the request is printed')
  assert.doesNotMatch(stdout, /other|blog/)
  child.kill('SIGINT')
  const [code] = await closed
  assert.equal(code, 0)
})

test('options that do not go together are refused', async () => {
  for (const args of [
    ['--status', '500'],
    ['--path', '/'],
    ['--requests', '--build', 'latest'],
  ])
    assert.equal((await logs(...args)).code, 2, args.join(' '))
  assert.equal((await logs('--requests', '--status', 'bad')).code, 1)
})
