import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../test/support/folder.ts'
import { describeConfig, hookEnvironment, loadConfig, roleEnvironment } from './config.ts'
import { isolationOf } from './settings/node.ts'
import { mailServerOf } from './settings/notices.ts'

const bare = { env: {}, folder: '/' }

test('a flag overrides the environment, the environment the file, and the file the default', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(
    join(folder, 'headland.json'),
    JSON.stringify({ domain: 'file.example', listen: '127.0.0.1:1', edgeListen: '127.0.0.1:2' }),
  )
  const env = { HEADLAND_LISTEN: '127.0.0.1:3', HEADLAND_EDGE_LISTEN: '127.0.0.1:4' }
  const { config, origins } = loadConfig({ flags: { 'edge-listen': '127.0.0.1:5' }, env, folder })
  assert.deepEqual(
    [config.edgeListen.port, config.listen.port, config.domain, config.logLevel],
    [5, 3, 'file.example', 'info'],
  )
  assert.deepEqual(
    [origins.edgeListen, origins.listen, origins.domain, origins.logLevel],
    ['flag', 'environment', 'headland.json', 'default'],
  )
})

test('a name that is not a setting is an error, in the environment and in the file', async (t) => {
  assert.throws(() => loadConfig({ ...bare, env: { HEADLAND_DATADIR: 'x' } }), /HEADLAND_DATADIR/)
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'headland.json'), '{"datadir": "x"}')
  assert.throws(() => loadConfig({ env: {}, folder }), /datadir, which is not a setting/)
})

test('a file that is named must exist and contain a JSON object', async (t) => {
  const folder = await temporaryFolder(t)
  assert.throws(() => loadConfig({ env: {}, folder, flags: { config: 'missing.json' } }), /missing.json cannot be read/)
  await writeFile(join(folder, 'list.json'), '[]')
  assert.throws(() => loadConfig({ env: {}, folder, flags: { config: 'list.json' } }), /one JSON object/)
})

test('variables of the client commands may be set in the same environment', () => {
  loadConfig({ ...bare, env: { HEADLAND_URL: 'http://x', HEADLAND_API_USER: 'u', HEADLAND_API_PASSWORD: 'p' } })
})

test('the master key is never printed', () => {
  const key = 'c2VjcmV0'
  const loaded = loadConfig({ ...bare, env: { HEADLAND_MASTER_KEY: key } })
  assert.doesNotMatch(JSON.stringify(describeConfig(loaded)), new RegExp(key))
  assert.equal(describeConfig(loaded).find((row) => row.key === 'masterKey')?.value, '[secret]')
})

test('the password of a registry is never printed, wherever it was written', () => {
  const env = { HEADLAND_REGISTRY: 'https://registry.example.com/a', HEADLAND_REGISTRY_PASSWORD: 'correct horse' }
  assert.doesNotMatch(JSON.stringify(describeConfig(loadConfig({ ...bare, env }))), /correct/)
  const inUrl = { HEADLAND_REGISTRY: 'https://user:correct@registry.example.com/a' }
  assert.throws(
    () => loadConfig({ ...bare, env: inUrl }),
    (error: Error) => /registryPassword/.test(error.message) && !/correct/.test(error.message),
  )
})

test('a registry is asked over plain HTTP on this machine, or where the operator says so', () => {
  const of = (registry: string, more = {}) => loadConfig({ ...bare, env: { HEADLAND_REGISTRY: registry, ...more } })
  assert.equal(of('http://127.0.0.1:5000/a/').config.registry, 'http://127.0.0.1:5000/a')
  assert.throws(() => of('http://registry.example.com'), /use https, or set registryPlainHttp/)
  of('http://registry.example.com', { HEADLAND_REGISTRY_PLAIN_HTTP: 'true' })
})

for (const [key, text] of [
  ['listen', '8080'],
  ['listen', 'localhost:99999'],
  ['edgeListen', '::1:80'],
  ['publicUrl', 'headland.example.com'],
  ['publicUrl', 'https://example.com/path'],
  ['domain', 'Sites.Example'],
  ['domain', '-x.example'],
  ['trustedProxies', 'localhost'],
  ['trustedProxies', '10.0.0.0/33'],
  ['operatorAccounts', 'operators,Not One'],
  ['rewriteHosts', 'https://api.example.com'],
  ['rewriteHosts', '*'],
  ['registry', 'registry.example.com'],
  ['registry', 'https://registry.example.com/Prefix'],
  ['registry', 'https://registry.example.com/a/../b?c'],
  ['rewriteHosts', 'a.example/path'],
  ['acmeEmail', 'operator'],
  ['acmeEmail', 'a@b.example,c@d.example'],
  ['acmeDirectory', 'http://ca.example/dir'],
  ['acmeChallenge', 'dns-01'],
  ['acmeDnsHook', 'dns-record --zone a'],
  ['acmeDnsHook', '["dns-record"]'],
  ['acmeDnsHook', '["/usr/bin/dns-record", 1]'],
  ['acmeDnsHook', '[]'],
  ['acmeDnsWait', 'soon'],
  ['concurrency', '0'],
  ['logLevel', 'loud'],
  ['logFormat', 'yaml'],
] as const) {
  test(`${key} = ${text} is refused with the name of the setting`, () => {
    const flag = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    assert.throws(() => loadConfig({ ...bare, flags: { [flag]: text } }), { message: new RegExp(`^${key} `) })
  })
}

test('a mail server needs an address that e-mails come from, and its password is a setting of its own', () => {
  const of = (env: Record<string, string>) => loadConfig({ env, folder: '/' }).config
  assert.throws(() => of({ HEADLAND_SMTP_URL: 'smtp://mail.example.com' }), /smtpUrl is set without smtpFrom/)
  const sender = { HEADLAND_SMTP_FROM: 'headland@example.com' }
  for (const url of [
    'mail.example.com:25',
    'http://mail.example.com',
    'smtp://mail.example.com/x',
    'smtp://a:b@mail.example.com',
  ])
    assert.throws(() => of({ ...sender, HEADLAND_SMTP_URL: url }), /smtpUrl/, url)
  const server = (url: string) => mailServerOf(of({ ...sender, HEADLAND_SMTP_URL: url }))
  assert.deepEqual([server('smtp://mail.example.com')?.port, server('smtps://[::1]')?.port], [587, 465])
  assert.deepEqual([server('smtps://[::1]:4650')?.host, server('')], ['::1', undefined])
})

test('a program for DNS is a path, or a list of a path and arguments that no shell reads', () => {
  const hook = (text: string) => loadConfig({ ...bare, flags: { 'acme-dns-hook': text } }).config.acmeDnsHook
  assert.deepEqual(hook('/usr/local/bin/dns record'), ['/usr/local/bin/dns record'])
  assert.deepEqual(hook('["/bin/dns", "$(id)", ""]'), ['/bin/dns', '$(id)', ''])
  assert.equal(hook(''), undefined)
})

test('only the control process gets the secrets among the settings, and programs of the operator get no setting', () => {
  const env = { HEADLAND_MASTER_KEY: 'a', HEADLAND_ACME_EAB_KEY: 'b', HEADLAND_DOMAIN: 'c', DNS_TOKEN: 'd' }
  assert.deepEqual(roleEnvironment('control', env), env)
  assert.deepEqual(roleEnvironment('edge', env), { HEADLAND_DOMAIN: 'c', DNS_TOKEN: 'd' })
  assert.deepEqual(hookEnvironment(env), { DNS_TOKEN: 'd' })
})

test('an IPv6 address is written in brackets', () => {
  assert.deepEqual(loadConfig({ ...bare, flags: { listen: '[::1]:80' } }).config.listen, { host: '::1', port: 80 })
})

test('a time that no timer can wait for is an error', () => {
  assert.equal(loadConfig({ ...bare, flags: { 'build-timeout': '2147483' } }).config.buildTimeout, 2_147_483)
  assert.throws(() => loadConfig({ ...bare, flags: { 'build-timeout': '2147484' } }), /buildTimeout .*24 days/)
})

test('with an address for ACME and a domain, the service is the front door of its machine', () => {
  const flags = { 'acme-email': 'operator@example.com', domain: 'sites.example.com' }
  const { config } = loadConfig({ flags, env: {}, folder: '/' })
  assert.deepEqual([config.edgeListen.port, config.tlsListen?.port], [80, 443])
  assert.deepEqual([config.edgeUrl, config.publicUrl], ['https://sites.example.com', undefined])
  const local = loadConfig({ flags: { 'acme-email': 'operator@example.com' }, env: {}, folder: '/' }).config
  assert.deepEqual([local.edgeListen.port, local.tlsListen], [8081, undefined])
  const chosen = loadConfig({ flags: { ...flags, 'tls-listen': '127.0.0.1:8443' }, env: {}, folder: '/' }).config
  assert.deepEqual([chosen.edgeListen.port, chosen.edgeUrl], [8081, 'https://sites.example.com:8443'])
})

test('what the firewall of nodes is made of is read as addresses of IPv4', () => {
  const settings = {
    HEADLAND_EDGE_ADDRESSES: '203.0.113.7, 10.0.4.0/24',
    HEADLAND_APPS_MAY_CALL: '10.0.0.5:8081,10.1.0.0/16:443',
    HEADLAND_APP_RESOLVERS: '10.0.0.2',
  }
  const { config } = loadConfig({ ...bare, env: settings })
  assert.deepEqual(isolationOf(config), {
    edges: ['203.0.113.7', '10.0.4.0/24'],
    blocked: [],
    allowed: [
      { address: '10.0.0.5', port: 8081 },
      { address: '10.1.0.0/16', port: 443 },
    ],
    resolvers: ['10.0.0.2'],
  })
  for (const wrong of ['::1', 'edge.example.com', '10.0.0.0/33', '10.0.0.1; drop', '10.0.0.1/08'])
    assert.throws(() => loadConfig({ ...bare, env: { HEADLAND_EDGE_ADDRESSES: wrong } }), /IPv4/, wrong)
  for (const wrong of ['10.0.0.5', '10.0.0.5:0', '10.0.0.5:70000', 'cms:80', '[::1]:80', '10.0.0.5:80:80'])
    assert.throws(() => loadConfig({ ...bare, env: { HEADLAND_APPS_MAY_CALL: wrong } }), /address:port/, wrong)
})

test('addresses with ports are printed as they are written', () => {
  const loaded = loadConfig({ ...bare, env: { HEADLAND_CONTROL_ADDRESSES: '10.0.0.5:7000,[::1]:7000' } })
  const shown = describeConfig(loaded).find(({ key }) => key === 'controlAddresses')
  assert.equal(shown?.value, '10.0.0.5:7000,[::1]:7000')
})

test('in a cluster, the memory of the machine is no limit for apps, and a limit that is set is one', () => {
  const load = (env: NodeJS.ProcessEnv) => loadConfig({ env, folder: '/' }).config.accountAppMemory
  assert.ok(load({}) > 0)
  assert.equal(load({ HEADLAND_ENGINE: 'swarm' }), 0)
  assert.equal(load({ HEADLAND_ENGINE: 'swarm', HEADLAND_ACCOUNT_APP_MEMORY: '1000' }), 1000)
})
