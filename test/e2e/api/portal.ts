/** How the portal is served: its files, its one page, and its security headers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { portalReady } from '../../browser/portal.ts'
import { service } from './service.ts'

await portalReady(service)
const HTML = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${service.api}${path}`, { headers, method, redirect: 'manual' })

test('the page is served at the root and at every path that users see', async () => {
  const page = await (await get('/', HTML)).text()
  assert.match(page, /<div id="root">/)
  for (const path of [
    '/default/apps',
    '/default/apps/blog/environments/01a1df1b-dc8d-76d9-8c01-a1b0dc8fbb67/builds',
    '/docs/apps',
    '/assets/apps',
    '/me',
  ]) {
    const answer = await get(path, HTML)
    assert.equal(answer.status, 200, path)
    assert.equal(await answer.text(), page)
  }
})

test('the page holds no inline script or style, and loads from nowhere else', async () => {
  const page = await (await get('/', HTML)).text()
  assert.doesNotMatch(page, /<script(?![^>]* src="\/assets\/)|<style|style=|javascript:| on[a-z]+=/i)
  for (const [, address = ''] of page.matchAll(/(?:src|href)="([^"]*)"/g)) assert.match(address, /^\/assets\/[\w.-]+$/)
})

test('the page allows only its own scripts, styles and calls, and no framing', async () => {
  for (const path of ['/', '/default/apps', await aScript()]) {
    const { headers } = await get(path, HTML)
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /script-src 'self'(;|$)/)
    assert.match(policy, /style-src 'self'(;|$)/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.match(policy, /base-uri 'none'/)
    assert.match(policy, /form-action 'none'/)
    assert.match(policy, /require-trusted-types-for 'script'/)
    assert.doesNotMatch(policy, /unsafe|https?:|\*/)
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
  }
})

async function aScript(): Promise<string> {
  const [, script = ''] = /src="(\/assets\/[^"]+\.js)"/.exec(await (await get('/', HTML)).text()) ?? []
  assert.ok(script)
  return script
}

test('a file with a digest in its name is cached for ever, the page is requested each time', async () => {
  assert.equal((await get(await aScript())).headers.get('cache-control'), 'public, max-age=31536000, immutable')
  const page = await get('/', HTML)
  assert.equal(page.headers.get('cache-control'), 'no-cache')
  const again = await get('/', { ...HTML, 'if-none-match': page.headers.get('etag') ?? '' })
  assert.equal(again.status, 304)
  assert.equal(await again.text(), '')
})

test('files are sent in the encoding that the browser prefers, and plain to clients without one', async () => {
  const path = await aScript()
  const forms: Record<string, string | null> = {
    'gzip, br': 'br',
    gzip: 'gzip',
    'br;q=0, gzip': 'gzip',
    identity: null,
  }
  for (const [accepted, form] of Object.entries(forms)) {
    const { headers } = await get(path, { 'accept-encoding': accepted })
    assert.equal(headers.get('content-encoding'), form, accepted)
    assert.equal(headers.get('vary'), 'accept-encoding')
    assert.match(headers.get('content-type') ?? '', /^text\/javascript/)
  }
})

test('the initial download is small', async () => {
  const page = await (await get('/', HTML)).text()
  let bytes = 0
  for (const [, address = ''] of page.matchAll(/(?:src|href)="([^"]*)"/g)) {
    const { headers } = await get(address, { 'accept-encoding': 'br' }, 'HEAD')
    bytes += Number(headers.get('content-length'))
  }
  assert.ok(bytes > 10_000 && bytes < 120_000, `${bytes} bytes`)
})

test('no address of the API answers with the page, whatever is accepted', async () => {
  for (const path of [
    '/v1',
    '/v1/nothing',
    '/v1/accounts/default/apps',
    '/fu/v1/x',
    '/wh/v1/x',
    '/v1?x',
    '/fu',
    '/wh/',
  ]) {
    const answer = await get(path, HTML)
    assert.ok([401, 404, 405].includes(answer.status), `${path}: ${answer.status}`)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  }
  assert.equal((await get('/healthz', HTML)).headers.get('content-type'), 'application/json; charset=utf-8')
  assert.match(await (await get('/docs', HTML)).text(), /OpenAPI|API/)
  assert.match((await get('/openapi.json', HTML)).headers.get('content-type') ?? '', /^application\/json/)
})

test('programs that request anything else get a JSON error', async () => {
  for (const [method, path, headers] of [
    ['GET', '/default/apps', { accept: 'application/json' }],
    ['GET', '/nothing', {}],
    ['POST', '/default/apps', HTML],
    ['DELETE', '/', HTML],
    ['GET', '/assets/missing.js', {}],
    ['GET', '/assets/../../../etc/passwd', {}],
    ['GET', '/assets/%2e%2e/%2e%2e/package.json', {}],
  ] as const) {
    const answer = await get(path, headers, method)
    assert.ok(answer.status === 404 || answer.status === 405, `${method} ${path}: ${answer.status}`)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  }
})

test('a page that is not logged in does not make the browser ask for a password', async () => {
  const fromPage = await get('/v1/session', { 'x-requested-with': 'headland-portal' })
  assert.deepEqual([fromPage.status, fromPage.headers.get('www-authenticate')], [401, 'Session realm="headland"'])
  assert.equal((await get('/v1/session')).headers.get('www-authenticate'), 'Basic realm="headland"')
})
