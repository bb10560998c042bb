/**
 * Attacks on the whole service that no other file tests: one service for all of them, and one app that is built once.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { sendRaw } from '../../support/edge/raw.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, page, reasonOf } from '../../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { processesOf } from '../../support/service/processes.ts'
import { startService } from '../../support/service/service.ts'

const service = await startService(
  { after },
  { dataDir: await temporaryFolder({ after }), settings: { HEADLAND_LOG_LEVEL: 'trace' } },
)
const as = await service.login()
await service.operator('accounts', 'create', 'other')
const stranger = await service.login('owner', 'other')
const { weaknesses }: resources.Isolation = (await service.call('/v1/isolation', { as })).json

/** All characters that are special to a shell, in names that must stay text. */
const SHELL = 'it\'s "$(touch pwned)" `touch pwned`; touch pwned & | > pwned * ~ {a,b} #'
const SECRET = 'the-value-of-a-secret-variable'
const FOLDER = SHELL.replaceAll(/["*>|/]/g, '')
const MAIN = '$(touch pwned);`touch pwned`&&x.js'

let calls = 0
const listeners = ['127.0.0.1', '::1'].map((host) => createServer(() => calls++).listen(0, host))
after(() => listeners.map((listener) => listener.close()))
await Promise.all(
  listeners.map((listener) => listener.listening || new Promise((done) => listener.once('listening', done))),
)
const portOf = (url: string): number => Number(new URL(url).port)
const [portHere = 0, portBySix = 0] = listeners.map((listener) => (listener.address() as { port: number }).port)

/** This machine and the metadata of clouds, in every spelling that bypasses a list of forbidden names. */
const PLACES: Record<string, { host: string; port: number }> = Object.fromEntries([
  ...['localhost', '127.1', '0', '2130706433', '0x7f000001', '017700000001', '::ffff:127.0.0.1', '127.0.0.1'].flatMap(
    (host) => [
      [`a listener at ${host}`, { host, port: portHere }],
      [`the API at ${host}`, { host, port: portOf(service.api) }],
    ],
  ),
  ['a listener at ::1', { host: '::1', port: portBySix }],
  ['metadata by IPv6', { host: 'fd00:ec2::254', port: 80 }],
  ['metadata by a mapped address', { host: '::ffff:169.254.169.254', port: 80 }],
  ['metadata by a number', { host: '2852039166', port: 80 }],
  ['metadata of containers', { host: '169.254.170.2', port: 80 }],
  ['metadata of Alibaba', { host: '100.100.100.200', port: 80 }],
  ['metadata of Azure', { host: '168.63.129.16', port: 80 }],
  ['a link-local address', { host: 'fe80::1%lo', port: 80 }],
])

const CALL = `
  const { connect } = require('node:net')
  const call = ([name, place]) => new Promise((resolve) => {
    const socket = connect({ ...place, timeout: 1000 })
    const settle = (how) => { socket.destroy(); resolve([name, how]) }
    socket.once('connect', () => settle('reached'))
    socket.once('timeout', () => settle('late'))
    socket.once('error', ({ code }) => settle(code))
  })
  const callAll = () => Promise.all(Object.entries(${JSON.stringify(PLACES)}).map(call))
`

/** An app in a folder and a file whose names are commands, which answers with what it sees. */
const environment = await createEnvironment(service, as, {
  body: {
    displayName: SHELL,
    branch: 'uploadable',
    cmsEnvironment: SHELL,
    rootDirectory: FOLDER,
    shellVariables: [
      { key: 'TEXT', value: SHELL },
      { key: 'SECRET', value: SECRET },
    ],
  },
})
const deployed = await deploy(service, as, environment.name, {
  [`${FOLDER}/package.json`]: JSON.stringify({ name: 'shell', main: MAIN }),
  // Without it, this folder would be the only one at the top, and would be removed.
  'README.md': SHELL,
  [`${FOLDER}/${MAIN}`]: `${CALL}
    const fs = require('node:fs')
    console.log('the secret is ' + process.env.SECRET)
    require('node:http').createServer(async (request, response) => {
      if (request.url === '/called') return response.end(JSON.stringify(await callAll()))
      const { TEXT, HEADLESS_CMS_ENVIRONMENT } = process.env
      const files = fs.readdirSync('.', { recursive: true })
      response.end(JSON.stringify({ TEXT, HEADLESS_CMS_ENVIRONMENT, argv: process.argv.slice(2), files }))
    }).listen(process.env.PORT, process.env.HOST)
  `,
})
const build = String(deployed.metadata.build)

test('shell characters in names, folders, files and values are text to the build, the app and the API', async () => {
  assert.equal(reasonOf(deployed), undefined, JSON.stringify(deployed.error))
  const seen = JSON.parse((await siteAnswer(service, environment.url)).text)
  assert.deepEqual([seen.TEXT, seen.HEADLESS_CMS_ENVIRONMENT, seen.argv], [SHELL, SHELL, []])
  assert.ok(seen.files.includes(MAIN))
  const { json } = await service.call(`/v1/${environment.name}`, { as })
  assert.deepEqual([json.displayName, json.cmsEnvironment, json.rootDirectory], [SHELL, SHELL, FOLDER])
  const made = await readdir(service.dataDir, { recursive: true })
  assert.deepEqual(
    [...seen.files, ...made].filter((path: string) => /(?:^|\/)pwned$/.test(path)),
    [],
  )
})

test('a name or a key with a shell character in it is refused by every route that takes one', async () => {
  const patch = (key: string) => ({ method: 'PATCH', as, body: { shellVariables: [{ key, value: 'x' }] } })
  for (const odd of [
    '$(id)',
    '`id`',
    'a;id',
    'a|id',
    'a&id',
    'a>b',
    "a'b",
    'a"b',
    'a b',
    'a*',
    '~',
    '{a,b}',
    'a\nid',
    '--help',
    '-rf',
  ]) {
    const escaped = encodeURIComponent(odd)
    const answers = await Promise.all([
      service.call(`/v1/accounts/default/apps?appId=${escaped}`, {
        method: 'POST',
        as,
        body: { region: 'regions/UK', uploadable: {} },
      }),
      service.call(`/v1/accounts/${escaped}/apps`, { as }),
      service.call(`/v1/accounts/default/apps/${escaped}`, { as }),
      service.call(`/v1/accounts/default/apps/${escaped}`, { method: 'DELETE', as }),
      service.call(`/v1/${environment.name.replace(/[^/]+$/, escaped)}`, { as }),
      service.call(`/v1/${environment.name}/builds/${escaped}/log`, { as }),
      service.call(`/v1/${environment.name}/deployments/${escaped}:activate`, { method: 'POST', as }),
      service.call(`/v1/${environment.name}?updateMask=shellVariables`, patch(odd)),
      service.call(`/v1/${environment.name}/domains:replace`, { method: 'POST', as, body: { domains: [odd] } }),
    ])
    for (const [at, { status, text }] of answers.entries())
      assert.ok(status >= 400 && status < 500, `${odd} at ${at}: ${status} ${text}`)
  }
  for (const odd of ['$(id)', 'a;id']) await assert.rejects(service.operator('accounts', 'create', odd), odd)
})

test('apps whose names differ in case only are one app', async () => {
  await createApp(service, as, { app: 'Kiosk' })
  const asked = (name: string) => service.call(`/v1/accounts/default/apps/${name}`, { as })
  const again = await service.call('/v1/accounts/default/apps?appId=kIOSK', {
    method: 'POST',
    as,
    body: { region: 'regions/UK', uploadable: {} },
  })
  assert.equal(again.status, 409)
  assert.equal((await asked('KIOSK')).json.name, 'accounts/default/apps/Kiosk')
  // Careless programs fold the Kelvin sign and the long s to k and s.
  for (const odd of ['\u212aiosk', 'kio\u017fk', 'K\u0131osk'])
    assert.equal((await asked(encodeURIComponent(odd))).status, 400)
})

test("a build's log is not shown to another account, not as a stream either, whichever path has its id", async () => {
  const theirs = await createEnvironment(service, stranger, { account: 'other' })
  await deploy(service, stranger, theirs.name, page('theirs'))
  const id = build.split('/').at(-1) ?? ''
  const absent = '0199e7c0-0000-7000-8000-000000000000'
  const paths = [`/v1/${build}/log`, `/v1/${theirs.name}/builds/${id}/log`, `/v1/${theirs.name}/builds/${id}`]
  for (const path of paths) {
    for (const query of ['', '?follow=true']) {
      for (const accept of ['application/json', 'text/plain', 'text/event-stream']) {
        const [answer, none] = await Promise.all(
          [path, path.replace(id, absent)].map((each) =>
            service.call(`${each}${query}`, { as: stranger, headers: { accept } }),
          ),
        )
        assert.equal(answer?.status, none?.status, path)
        assert.ok((answer?.status ?? 0) >= 400, path)
        assert.ok(!answer?.text.includes('[secret]'), answer?.text)
      }
    }
  }
  const deployments = (await service.call(`/v1/${environment.name}/deployments`, { as })).json.deployments
  const deployment = deployments[0].name.split('/').at(-1)
  const activated = await service.call(`/v1/${theirs.name}/deployments/${deployment}:activate`, {
    method: 'POST',
    as: stranger,
    body: {},
  })
  assert.equal(activated.status, 404)
  assert.match((await siteAnswer(service, theirs.url)).text, /theirs/)
})

test('the value of a variable is in no log, error, metric, list of processes, or file of the service', async () => {
  const wrong = [{ key: 'A B', value: SECRET }]
  const texts = [
    await service.call(`/v1/${environment.name}`, { as }),
    await service.call(`/v1/${environment.name}?updateMask=shellVariables`, {
      method: 'PATCH',
      as,
      body: { shellVariables: wrong },
    }),
    await service.call(`/v1/${environment.name}/operations`, { as }),
    await service.call(`/v1/${build}`, { as }),
    await service.call(`/v1/${build}/log`, { as }),
    await service.call(`/v1/${environment.name}/logs`, { as }),
    await service.call('/metrics', { as }),
  ].map(({ text }) => text)
  assert.match(texts[5] ?? '', /the secret is \[secret\]/)
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  const commands = pids.map((pid) => readIfThere(`/proc/${pid}/cmdline`))
  const environs = [service.pid, ...Object.values(processesOf(service.pid))].map((pid) =>
    readIfThere(`/proc/${pid}/environ`),
  )
  assert.ok(
    commands.some((command) => command.includes(MAIN)),
    'the app is among them',
  )
  for (const text of [...texts, ...commands, ...environs, service.log()])
    assert.ok(!text.includes(SECRET), text.slice(0, 500))
  for (const entry of await readdir(service.dataDir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === 'ballast') continue
    const path = join(entry.parentPath, entry.name)
    assert.ok(!(await readFile(path).catch(() => Buffer.alloc(0))).includes(SECRET), path)
  }
})

/** Processes may end between listing and reading. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

test('neither a build nor an app reaches this machine or the metadata of a cloud, however the address is spelt', {
  skip: weaknesses.length > 0 && weaknesses.join('; '),
}, async () => {
  const found: [string, string][] = JSON.parse((await siteAnswer(service, environment.url, '/called')).text)
  const caller = await createEnvironment(service, as)
  const done = await deploy(service, as, caller.name, {
    'package.json': JSON.stringify({ scripts: { build: 'node build.js' } }),
    'build.js': `${CALL} callAll().then((all) => {
      require('node:fs').mkdirSync('dist')
      require('node:fs').writeFileSync('dist/index.html', JSON.stringify(all))
    })`,
  })
  assert.equal(reasonOf(done), undefined, JSON.stringify(done.error))
  const inBuild: [string, string][] = JSON.parse((await siteAnswer(service, caller.url)).text)
  for (const list of [found, inBuild]) {
    assert.deepEqual(
      list.map(([name]) => name),
      Object.keys(PLACES),
    )
    assert.deepEqual(
      list.filter(([, how]) => how === 'reached'),
      [],
    )
  }
  assert.equal(calls, 0)
})

test('a request with an unknown Host reaches no site, and its response reveals nothing', async () => {
  const { host } = new URL(environment.url)
  const { port } = new URL(service.edge)
  const ask = (sent: string) => sendRaw(service.edge, `GET / HTTP/1.1\r\nHost: ${sent}\r\nConnection: close\r\n\r\n`)
  const unknown = await ask('unknown.localhost')
  assert.equal(unknown.status, 404)
  for (const sent of [
    `${host}.evil.example`,
    `evil.example:${port}`,
    `evil@${host}`,
    `${host}, evil`,
    `${host}/`,
    `${host}#`,
    `127.0.0.1:${port}`,
    `[::1]`,
    '..',
    `${host}%00`,
    `*.localhost`,
  ]) {
    const answer = await ask(sent)
    assert.ok(answer.status === 404 || answer.status === 400, `${sent}: ${answer.status}`)
    assert.ok(!answer.body.includes('evil'), 'the response does not repeat the Host')
    if (answer.status === 404) assert.equal(answer.body, unknown.body, sent)
  }
})

test('secrets that are generated at the first start differ each time, and none of them is a default', async (t) => {
  const second = await startService(t, { dataDir: await temporaryFolder(t) })
  const secretsOf = async ({ log, dataDir }: { log(): string; dataDir: string }) => [
    /Password +(\S+)/.exec(log())?.[1] ?? '',
    await readFile(join(dataDir, 'master.key'), 'utf8'),
  ]
  const [ours, others] = [await secretsOf(service), await secretsOf(second)]
  for (const secret of [...ours, ...others])
    assert.ok(secret.trim().length >= 16, 'it is long enough not to be guessed')
  assert.equal(new Set([...ours, ...others]).size, 4)
  assert.equal((await second.call('/v1/accounts', { as })).status, 401)
  for (const password of ['', 'admin', 'password', 'headland']) {
    const answer = await second.call('/v1/session', { method: 'POST', body: { email: 'admin@localhost', password } })
    assert.ok(answer.status >= 400 && answer.status < 500)
  }
})
