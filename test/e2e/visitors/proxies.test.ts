/**
 * The proxies of docs/guides/domains.md, configured as written there, in front of the real service. Only ports and
 * certificates differ.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import * as http2 from 'node:http2'
import { type RequestOptions, request } from 'node:https'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../support/folder.ts'
import { formOf, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { startService, type TestService } from '../../support/service/service.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'

const CUSTOM = 'www.customer.example'
const PORTAL = 'headland.example.com'
/** An address of this machine other than the proxy's own, to distinguish the visitor from the proxy. */
const VISITOR = '127.0.0.9'

const guide = await readFile(new URL('../../../docs/guides/domains.md', import.meta.url), 'utf8')
const blocks = (language: string): string[] =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block = '']) => block)

/** Where test/prepare.ts unpacks them: Debian's packages, once installed, would start a server on port 80. */
const UNPACKED = fileURLToPath(new URL('../../../node_modules/.cache/proxies/usr', import.meta.url))
const PATH = [process.env.PATH ?? '', '/usr/sbin', join(UNPACKED, 'bin'), join(UNPACKED, 'sbin')].join(delimiter)
const isThere = (...commands: string[]): boolean =>
  commands.every((command) => {
    try {
      execFileSync('which', [command], { stdio: 'ignore', env: { PATH } })
      return true
    } catch {
      return false
    }
  })
const without = (...commands: string[]): string | false =>
  isThere(...commands) ? false : `needs ${commands.join(' and ')}`

const file = { after }

type Front = { port: number; plainPort: number; service: TestService }

/** The configuration of the guide, with the port of this proxy. */
async function startBehind(port: number): Promise<TestService> {
  const [settings = '{}'] = blocks('json')
  const { publicUrl, edgeUrl, domain, trustedProxies } = JSON.parse(settings)
  return startService(file, {
    settings: {
      HEADLAND_PUBLIC_URL: `${publicUrl}:${port}`,
      HEADLAND_EDGE_URL: `${edgeUrl}:${port}`,
      HEADLAND_DOMAIN: domain,
      HEADLAND_TRUSTED_PROXIES: trustedProxies,
    },
  })
}

const toHere = (text: string, service: TestService): string =>
  text.replaceAll('127.0.0.1:8080', new URL(service.api).host).replaceAll('127.0.0.1:8081', new URL(service.edge).host)

async function startNginx(): Promise<Front> {
  const folder = await temporaryFolder(file)
  const [port, plainPort] = [await freePort(), await freePort()]
  const service = await startBehind(port)
  const [site = '', snippet = '', cloudflare = ''] = blocks('nginx')
  execFileSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=test', '-keyout', join(folder, 'privkey.pem'), '-out', join(folder, 'fullchain.pem')],
  ])
  await mkdir(join(folder, 'snippets'))
  await writeFile(join(folder, 'snippets/headland-proxy.conf'), snippet)
  const here = toHere(site, service)
    .replaceAll('listen 80 ', `listen 127.0.0.1:${plainPort} `)
    .replaceAll('listen 443 ', `listen 127.0.0.1:${port} `)
    .replaceAll(/\/etc\/letsencrypt\/live\/[^/]+\//g, `${folder}/`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const own = process.getuid?.() === 0 ? 'user root;\n' : ''
  const config = join(folder, 'nginx.conf')
  await writeFile(
    config,
    `${own}pid ${folder}/pid;\nevents {}\nhttp {\naccess_log off;\n${temporary.join('\n')}\n${cloudflare}\n${here}\n}\n`,
  )
  const options = ['-p', folder, '-c', config, '-e', 'stderr']
  await started(spawn('nginx', [...options, '-g', 'daemon off;'], { env: { PATH }, stdio: 'pipe' }), port)
  return { port, plainPort, service }
}

async function startCaddy(): Promise<Front> {
  const folder = await temporaryFolder(file)
  const [port, plainPort] = [await freePort(), await freePort()]
  const service = await startBehind(port)
  const [written = ''] = blocks('caddyfile')
  assert.ok(written.startsWith('{\n'))
  // Certificates of Caddy's own authority, made on demand: the questions to the service, and their timing, stay the
  // same.
  const options = ['admin off', 'local_certs', 'skip_install_trust', `https_port ${port}`, `http_port ${plainPort}`]
  const config = join(folder, 'Caddyfile')
  const here = toHere(written, service).replace('{\n', `{\n\tdefault_bind 127.0.0.1\n\t${options.join('\n\t')}\n`)
  await writeFile(config, here)
  const env = { PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  await started(spawn('caddy', ['run', '--config', config, '--adapter', 'caddyfile'], { env, stdio: 'pipe' }), port)
  return { port, plainPort, service }
}

/** Resolves when it accepts connections; fails with the output of a proxy that ends before. */
async function started(child: ChildProcess, port: number) {
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text) => {
      output += text
    })
  after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`the proxy did not start:\n${output}`)
    const answer = await call({ port } as Front, PORTAL, '/healthz').catch(() => undefined)
    return answer?.status === 200
  }, 'the proxy answers')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

type Answered = { status: number; headers: IncomingHttpHeaders; text: string }
type Asked = { method?: string; headers?: Record<string, string>; body?: Uint8Array | undefined; from?: string }

const optionsOf = ({ port }: Front, host: string, path: string): RequestOptions => ({
  ...{ host: '127.0.0.1', port, path, servername: host, agent: false },
  // The certificates are made for the test; the test checks that there is one for this name.
  rejectUnauthorized: false,
  timeout: TIMEOUT_MS,
})

function call(front: Front, host: string, path: string, asked: Asked = {}): Promise<Answered> {
  const { method = 'GET', headers = {}, body, from = VISITOR } = asked
  return new Promise((resolve, reject) => {
    const options = { ...optionsOf(front, host, path), method, localAddress: from }
    const sent = request({ ...options, headers: { host: `${host}:${front.port}`, ...headers } }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error(`${host}${path}: no answer`)))
    sent.end(body)
  })
}

/** An app that answers with the headers about its visitor, streams, and accepts WebSockets. */
const ECHO = {
  'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }),
  'server.js': `
    const { createHash } = require('node:crypto')
    const server = require('node:http').createServer((request, response) => {
      if (request.url === '/stream') return response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: first\\n\\n')
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(request.headers))
    })
    server.on('upgrade', (request, socket) => {
      const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64')
      socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n')
      socket.pipe(socket)
    })
    server.listen(process.env.PORT, process.env.HOST)
  `,
}

for (const { name, start, missing } of [
  { name: 'nginx', start: startNginx, missing: without('nginx', 'openssl') },
  { name: 'Caddy', start: startCaddy, missing: without('caddy') },
]) {
  test(`behind ${name}, as the guide configures it`, { skip: missing }, async (t) => {
    const front = await start()
    const { service } = front
    const as = await service.login()
    const authorization = `Basic ${btoa(`${as.userId}:${as.password}`)}`
    const { name: environment, url } = await createEnvironment(service, as)
    const site = new URL(url).hostname

    await t.test('an archive is uploaded through it, larger than what proxies take by default', async () => {
      const form = new Response(formOf({ ...ECHO, 'ballast.bin': ballast(3) }))
      const answer = await call(front, PORTAL, `/fu/v1/${environment}:upload`, {
        method: 'POST',
        headers: { authorization, 'content-type': form.headers.get('content-type') ?? '' },
        body: new Uint8Array(await form.arrayBuffer()),
      })
      assert.equal(answer.status, 200, answer.text)
      const done = await untilDone(service, as, JSON.parse(answer.text).name)
      assert.equal(done.error, undefined)
    })

    await t.test(
      'the portal and the API answer under the name of publicUrl, and log-ins of the portal work',
      async () => {
        const page = await call(front, PORTAL, '/', { headers: { accept: 'text/html' } })
        assert.match(page.text, /<!doctype html>/i)
        const refused = await call(front, PORTAL, '/v1/session', {
          method: 'POST',
          headers: { 'content-type': 'application/json', origin: `https://${PORTAL}:${front.port}` },
          body: Buffer.from(JSON.stringify({ email: 'unknown@example.com', password: 'not the password' })),
        })
        assert.equal(refused.status, 401, 'refused for the password, not for where it came from')
      },
    )

    await t.test('the site answers over TLS, and its app knows the visitor and the scheme', async () => {
      const { status, text } = await call(front, site, '/')
      assert.equal(status, 200, text)
      const seen = JSON.parse(text)
      assert.equal(seen['x-forwarded-for'], `${VISITOR}, 127.0.0.1`)
      assert.equal(seen['x-forwarded-proto'], 'https')
      assert.equal(seen['x-forwarded-host'].split(':')[0], site)
    })

    await t.test('forwarding headers that a visitor sends are not trusted', async () => {
      const headers = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'http' }
      const seen = JSON.parse((await call(front, site, '/', { headers })).text)
      assert.equal(seen['x-forwarded-for'], `${VISITOR}, 127.0.0.1`)
      assert.equal(seen['x-forwarded-proto'], 'https')
    })

    await t.test('a custom domain answers as soon as it is added', async () => {
      const path = `/v1/${environment}/domains:replace`
      const added = await service.call(path, { method: 'POST', as, body: { domains: [CUSTOM] } })
      assert.equal(added.status, 200, added.text)
      const { status, text } = await call(front, CUSTOM, '/')
      assert.equal(status, 200, text)
      assert.equal(JSON.parse(text).host.split(':')[0], CUSTOM)
    })

    await t.test('a webhook is called through it, and the ledger has the caller’s address', async () => {
      const set = await service.call(`/v1/${environment}/webhooks`, { method: 'POST', as })
      const purge = new URL(set.json.webhooks.find(({ action }: { action: string }) => action === 'purgeCache').url)
      assert.equal(purge.origin, `https://${PORTAL}:${front.port}`)
      const called = await call(front, PORTAL, purge.pathname + purge.search, { method: 'POST' })
      assert.equal(called.status, 200, called.text)
      const { json } = await service.call(`/v1/${environment}/triggers`, { as })
      assert.equal(json.triggers[0].address, VISITOR)
    })

    await t.test('endpoints for this machine alone are not reachable through the proxy', async () => {
      assert.equal((await call(front, PORTAL, '/metrics')).status, 401)
      assert.equal((await call(front, PORTAL, `/v1/domains:allowed?domain=${CUSTOM}`)).status, 404)
      assert.equal((await service.call(`/v1/domains:allowed?domain=${CUSTOM}`)).status, 200)
    })

    await t.test('streams are forwarded as they are written: events of the API, and those of an app', async () => {
      const events = optionsOf(front, PORTAL, '/v1/accounts/default/events')
      const headers = { host: PORTAL, authorization, accept: 'text/event-stream' }
      assert.match(await firstOf({ ...events, headers }), /event: hello/)
      assert.match(await firstOf({ ...optionsOf(front, site, '/stream'), headers: { host: site } }), /data: first/)
    })

    await t.test('a WebSocket reaches the app and comes back', async () => {
      const headers = {
        host: site,
        ...{ connection: 'Upgrade', upgrade: 'websocket' },
        ...{ 'sec-websocket-version': '13', 'sec-websocket-key': Buffer.alloc(16, 'k').toString('base64') },
      }
      const sent = request({ ...optionsOf(front, site, '/socket'), headers }).end()
      const [, socket] = await once(sent, 'upgrade', { signal: AbortSignal.timeout(TIMEOUT_MS) })
      socket.write('echo')
      const [back] = await once(socket, 'data', { signal: AbortSignal.timeout(TIMEOUT_MS) })
      socket.destroy()
      assert.equal(String(back), 'echo')
    })

    await t.test('HTTP/2 works', async () => {
      const options = { host: '127.0.0.1', port: front.port, servername: site, rejectUnauthorized: false }
      const socket = connect({ ...options, ALPNProtocols: ['h2'] })
      await once(socket, 'secureConnect', { signal: AbortSignal.timeout(TIMEOUT_MS) })
      const session = http2.connect(`https://${site}:${front.port}`, { createConnection: () => socket })
      const stream = session.request({ ':path': '/' })
      const [headers] = await once(stream, 'response', { signal: AbortSignal.timeout(TIMEOUT_MS) })
      session.destroy()
      assert.equal(headers[':status'], 200)
    })

    await t.test('plain HTTP is redirected to HTTPS in a way that keeps a POST a POST', async () => {
      const answer = await fetch(`http://127.0.0.1:${front.plainPort}/wh/x`, { method: 'POST', redirect: 'manual' })
      assert.equal(answer.status, 308)
    })
  })
}

test('Caddy gets no certificate for a name that no site has', { skip: without('caddy') }, async () => {
  const front = await startCaddy()
  await assert.rejects(call(front, 'stranger.example', '/'), /alert|ECONNRESET|socket hang up/i)
})

/** Megabytes that do not compress. */
function ballast(megabytes: number): Buffer {
  const bytes = Buffer.alloc(megabytes * 1024 * 1024)
  let state = 1
  for (let index = 0; index < bytes.length; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[index] = state >>> 24
  }
  return bytes
}

/** The first bytes of a response that does not end. */
function firstOf(options: RequestOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      response.once('data', (chunk) => {
        resolve(String(chunk))
        sent.destroy()
      })
    })
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('nothing came')))
    sent.end()
  })
}
