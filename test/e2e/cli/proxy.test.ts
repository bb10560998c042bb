/** The client behind the proxy of a company: the service has a name that only the proxy can resolve. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../support/folder.ts'
import { startForwardProxy } from '../../support/machine/forward-proxy.ts'
import { startService } from '../../support/service/service.ts'
import { TIMEOUT_MS } from '../../support/until.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))
const NAME = 'headland.test'
const LOGIN = 'ann@corp:p:ss'
/** Encoded for a URL. */
const WRITTEN = 'ann%40corp:p%3Ass'

const folder = await temporaryFolder({ after })
const service = await startService({ after })
const { email, password } = JSON.parse(
  await service.operator('users', 'create', 'ann@example.com', '--account', 'default', '--role', 'developer', '--json'),
)
const plain = new URL(service.api).host
const certificate = join(folder, 'certificate.pem')
const encrypted = await startTls()

/** The service behind TLS, as a reverse proxy puts it. */
async function startTls(): Promise<string> {
  const key = join(folder, 'key.pem')
  execFileSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`, '-keyout', key, '-out', certificate],
  ])
  const options = { key: await readFile(key), cert: await readFile(certificate) }
  const [host, port] = plain.split(':')
  const server = createServer(options, (incoming, answer) => {
    const { url: path, method, headers } = incoming
    const onward = request({ host, port, path, method, headers, agent: false }, (from) => {
      answer.writeHead(from.statusCode ?? 502, from.headers)
      from.pipe(answer)
    })
    onward.on('error', () => answer.destroy())
    incoming.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Setting = { cwd: string; env: Record<string, string>; input?: string }

async function headland(args: readonly string[], { cwd, env, input = '' }: Setting) {
  const child = spawn(process.execPath, [HEADLAND, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, NODE_EXTRA_CA_CERTS: certificate, ...env },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  child.stdin.end(input)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, stdout, stderr, all: stdout + stderr }
}

async function newProject(name: string): Promise<string> {
  const cwd = join(folder, name)
  await mkdir(cwd)
  await writeFile(join(cwd, 'index.html'), name)
  return cwd
}

for (const [scheme, to, variable, asked] of [
  ['https', encrypted, 'HTTPS_PROXY', new RegExp(`^CONNECT ${NAME}:443$`)],
  ['http', plain, 'http_proxy', new RegExp(`^[A-Z]+ http://${NAME}/(v1|fu/v1)/`)],
] as const) {
  test(`log-in, upload, followed build and logs go through a proxy with a password, by ${scheme}`, async (t) => {
    const proxy = await startForwardProxy(t, { to, login: LOGIN })
    const env = { [variable]: `http://${WRITTEN}@${proxy.host}` }
    const cwd = await newProject(scheme)
    const url = `${scheme}://${NAME}`
    const login = ['login', url, '--user', email, '--password-stdin']
    const logged = await headland(login, { cwd, env, input: `${password}\n` })
    assert.equal(logged.code, 0, logged.all)

    const names = ['--create', '--app', `${scheme}-app`, '--region', 'UK', '--env', 'Production', '--cms', 'cms']
    const deployed = await headland(['deploy', '--account', 'default', ...names], { cwd, env })
    assert.equal(deployed.code, 0, deployed.all)
    assert.match(deployed.stdout, /^http:\/\/.+\.localhost:\d+$/m)
    const log = await headland(['logs', '--build', 'latest', '--follow'], { cwd, env })
    assert.equal(log.code, 0, log.all)
    assert.match(log.stdout, /PLANNING/)
    assert.equal((await headland(['logout', url], { cwd, env })).code, 0)

    assert.ok(proxy.asked.length >= 4)
    for (const one of proxy.asked) assert.match(one, asked)
  })

  test(`a refusal of the proxy is reported with what it requires, without its password, by ${scheme}`, async (t) => {
    const cwd = await newProject(`${scheme}-refused`)
    const as = await service.login()
    const from = {
      HEADLAND_URL: `${scheme}://${NAME}`,
      HEADLAND_API_USER: as.userId,
      HEADLAND_API_PASSWORD: as.password,
    }
    const strict = await startForwardProxy(t, { to, login: LOGIN })
    const none = await headland(['apps'], { cwd, env: { ...from, [variable]: `http://${strict.host}` } })
    assert.equal(none.code, 1)
    assert.match(none.stderr, new RegExp(`The proxy http://${strict.host} .* wants a user .* into ${variable}`))

    const wrong = await headland(['apps'], { cwd, env: { ...from, [variable]: `http://ann:hunter2@${strict.host}` } })
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, new RegExp(`http://${strict.host} .* does not take .* in ${variable}`))
    assert.doesNotMatch(wrong.all, /hunter2/)

    const closed = await startForwardProxy(t, { to, refusal: '403 Forbidden' })
    const no = await headland(['apps'], { cwd, env: { ...from, [variable]: closed.host } })
    assert.equal(no.code, 1)
    assert.match(no.stderr, new RegExp(`proxy http://${closed.host} .*answered with 403`))

    const gone = await headland(['apps'], { cwd, env: { ...from, [variable]: 'http://ann:hunter2@127.0.0.1:1' } })
    assert.equal(gone.code, 3)
    assert.match(gone.stderr, new RegExp(`through the proxy http://127.0.0.1:1: .*ECONNREFUSED.* Is ${variable} right`))
    assert.doesNotMatch(gone.all, /hunter2/)
  })
}

test('this machine, and hosts in NO_PROXY, are reached without the proxy', async (t) => {
  const cwd = await newProject('straight')
  const as = await service.login()
  const proxy = await startForwardProxy(t, { to: plain })
  const env = { HTTP_PROXY: `http://${proxy.host}`, HEADLAND_API_USER: as.userId, HEADLAND_API_PASSWORD: as.password }
  assert.equal((await headland(['apps'], { cwd, env: { ...env, HEADLAND_URL: service.api } })).code, 0)
  const excepted = { ...env, HEADLAND_URL: `http://${NAME}`, NO_PROXY: '.test' }
  const straight = await headland(['apps'], { cwd, env: excepted })
  assert.match(straight.stderr, /was not reached: .*headland\.test/)
  assert.deepEqual(proxy.asked, [])
})
