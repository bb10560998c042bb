/** `headland curl` and `headland open`, on a system that does not resolve names under localhost, such as Debian. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, nodeServer } from '../../support/service/deploy.ts'
import { createApp, createEnvironment } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))

const folder = await temporaryFolder({ after })
const service = await startService({ after }, { dataDir: await temporaryFolder({ after }) })
const as = await service.login('developer')
const site = await createEnvironment(service, as, { app: await createApp(service, as, { app: 'shop' }) })
await deploy(
  service,
  as,
  site.name,
  nodeServer(
    'hello',
    `if (request.url === '/bytes') return response.end(Buffer.from([0, 27, 91, 255]))
     if (request.url === '/missing') { response.statusCode = 404; return response.end('not here') }
     if (request.url === '/broken') { response.writeHead(200, { 'content-length': 10 }); response.write('abc')
       return setTimeout(() => response.destroy(), 100) }
     let body = ''
     return request.on('data', (piece) => { body += piece }).on('end', () => {
       const { method, url, headers } = request
       response.setHeader('x-made-by', 'the app')
       response.end(JSON.stringify({ method, url, body, host: headers.host, x: headers['x-test'], type: headers['content-type'] }))
     })
     `,
  ),
)

type Setting = { env?: Record<string, string>; input?: string }

async function headland(args: readonly string[], { env = {}, input = '' }: Setting = {}) {
  const login = { HEADLAND_URL: service.api, HEADLAND_API_USER: as.userId, HEADLAND_API_PASSWORD: as.password }
  const child = spawn(process.execPath, [HEADLAND, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...login, ...env },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  child.stdin.end(input)
  const [bytes, words, [code]] = await Promise.all([buffer(child.stdout), buffer(child.stderr), once(child, 'close')])
  return { code, bytes, stdout: bytes.toString(), stderr: words.toString() }
}

const { host } = new URL(site.url)

test('curl requests a path of the site, with the right Host', async () => {
  const { code, stdout, stderr } = await headland(['curl', '/news?page=2'])
  assert.equal(code, 0, stderr)
  assert.deepEqual(JSON.parse(stdout), { method: 'GET', url: '/news?page=2', body: '', host })
})

test('curl takes a full URL too, as deploy prints it, and needs no log-in for it', async () => {
  const { code, stdout, stderr } = await headland(['curl', `${site.url}/x`], { env: { HEADLAND_URL: '' } })
  assert.equal(code, 0, stderr)
  assert.equal(JSON.parse(stdout).host, host)
})

test('curl sends a method, headers and data', async () => {
  await writeFile(join(folder, 'data.txt'), 'b=2')
  const args = ['curl', '/', '-X', 'PUT', '-H', 'X-Test: one', '-d', 'a=1', '-d', '@data.txt', '-d', '@-']
  const { stdout, stderr } = await headland(args, { input: 'c=3' })
  const { method, body, x, type } = JSON.parse(stdout || stderr)
  assert.deepEqual([method, body, x, type], ['PUT', 'a=1&b=2&c=3', 'one', 'application/x-www-form-urlencoded'])
  const json = await headland(['curl', '/', '-d', '{}', '-H', 'content-type: application/json'])
  const posted = JSON.parse(json.stdout)
  assert.deepEqual([posted.method, posted.type], ['POST', 'application/json'])
})

test('curl prints headers on request, and bytes unchanged', async () => {
  const head = await headland(['curl', '-I', '/'])
  assert.match(head.stdout, /^HTTP\/1\.1 200 OK\n[^{]*x-made-by: the app\n[^{]*\n\n$/i)
  const both = await headland(['curl', '-i', '/'])
  assert.match(both.stdout, /^HTTP\/1\.1 200 OK\n.*\n\n\{/s)
  assert.deepEqual([...(await headland(['curl', '/bytes'])).bytes], [0, 27, 91, 255])
})

test('curl ends with 1 for an error of the site with --fail, and with 3 if a response breaks off', async () => {
  assert.equal((await headland(['curl', '/missing'])).code, 0)
  const failed = await headland(['curl', '-f', '/missing'])
  assert.deepEqual([failed.code, failed.stdout], [1, 'not here'])
  const broken = await headland(['curl', '/broken'])
  assert.equal(broken.code, 3)
  assert.match(broken.stderr, /broke off in the middle/)
  const closed = await headland(['curl', 'http://unknown.localhost:1/'])
  assert.equal(closed.code, 3)
  assert.match(closed.stderr, /unknown\.localhost:1 was not reached: .*ECONNREFUSED/)
})

test('arguments that curl cannot send are refused with what to write instead', async () => {
  for (const [args, expected] of [
    [['news'], /neither a path, as \/news, nor an address/],
    [['ftp://shop.localhost/'], /neither a path/],
    [['/', '-H', 'no colon'], /is no header: --header 'Name: value'/],
    [['/', '-H', 'X: a\nY: b'], /Invalid character in header/],
    [['/', '-X', 'GET /'], /Method must be a valid HTTP token/],
    [['/', '-d', '@nothing'], /there is no file nothing/],
    [['/', '-I', '-d', 'a'], /--head/],
  ] as const) {
    const { code, stderr } = await headland(['curl', ...args])
    assert.equal(code, 2, stderr)
    assert.match(stderr, expected)
  }
})

test('a path that looks like the address of another host stays a path', async () => {
  const { stdout } = await headland(['curl', '//other.example/x'])
  const { url, host: asked } = JSON.parse(stdout)
  assert.deepEqual([url, asked], ['//other.example/x', host])
})

test('open passes the URL to the opener of the system, as one argument, and prints it', async () => {
  const bin = join(folder, 'bin')
  const recorded = join(folder, 'recorded')
  await mkdir(bin)
  await writeFile(
    join(bin, 'xdg-open'),
    `#!/bin/sh\nprintf '%s|' "$@" >"${recorded}.new"\nmv "${recorded}.new" "${recorded}"\n`,
    {
      mode: 0o755,
    },
  )
  const env = { PATH: [bin, process.env.PATH].join(delimiter), DISPLAY: ':0' }
  const { code, stdout } = await headland(['open', '/news?a=1&b=$(id)'], { env })
  assert.equal(code, 0)
  const url = `${site.url}/news?a=1&b=$(id)`
  assert.equal(stdout, `${url}\n`)
  const seen = () => readFile(recorded, 'utf8').catch(() => undefined)
  assert.equal(await until(seen), `${url}|`)
})

test('if no browser can be opened, open prints the URL and says so', async () => {
  const { code, stdout, stderr } = await headland(['open'])
  assert.deepEqual([code, stdout], [0, `${site.url}/\n`])
  assert.match(stderr, /no browser that can be opened/)
  const json = await headland(['open', '--json'])
  assert.deepEqual(JSON.parse(json.stdout), { url: `${site.url}/` })
})

test('the first time that a URL under localhost is printed, the command explains which programs resolve it', async () => {
  const made = await headland(['envs', 'create', 'Staging', '--app', 'shop', '--cms', 'cms'])
  assert.match(made.stderr, /Browsers and curl know that \*\.localhost is this machine/)
  assert.match(service.log(), /Sites +http:\/\/NAME\.localhost:\d+/)
})
