/** Sites and the portal in a real browser over HTTPS, with certificates of a real CA and without a proxy in front. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page, Response } from 'playwright-core'
import { createSite, frontDoor, PORTAL, untilSecure } from '../support/certificates/front-door.ts'
import { HAS_PEBBLE, NEEDS_PEBBLE } from '../support/certificates/pebble.ts'
import { type Files, nodeServer } from '../support/service/deploy.ts'
import { createApp } from '../support/service/environment.ts'
import type { Login, TestService } from '../support/service/service.ts'
import { until } from '../support/until.ts'
import { assertQuiet, forgetComplaints, ownerOf, startBrowser, type TestBrowser } from './portal.ts'

let service: TestService
let as: Login
let browser: TestBrowser
let tlsPort: number

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
before(async () => {
  if (!HAS_PEBBLE) return
  const door = await frontDoor(scope)
  tlsPort = door.tlsPort
  service = await door.start()
  as = await service.login()
  const baseURL = `https://${PORTAL}:${tlsPort}`
  browser = await startBrowser(scope, service, { baseURL, ownNames: '*.example.com' })
})
after(async () => {
  for (const end of ends) await end()
})

const IMAGES = 30
/** After this time a page is loaded again. */
const READY_MS = 30_000

const SITE: Files = {
  'index.html': `<!doctype html><title>x</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/site.css">
    <body>${Array.from({ length: IMAGES }, (_, at) => `<img alt="" src="/image-${at}.svg">`).join('')}
    <script type="module" src="/site.js"></script>`,
  'site.css': 'body { color: rgb(1, 2, 3) }',
  'site.js': `document.body.dataset.ready = await (await fetch('/text.txt')).text()`,
  'text.txt': 'fetched',
  ...Object.fromEntries(
    Array.from({ length: IMAGES }, (_, at) => [
      `image-${at}.svg`,
      `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="${at + 1}"/>`,
    ]),
  ),
}

/**
 * Opens a page until `look` succeeds on it: Chromium drops requests whenever a network interface is added or removed, and builds
 * add interfaces.
 */
async function open<T>(page: Page, url: string, look: (answer: Response | null) => Promise<T>): Promise<T> {
  const tried = () =>
    page
      .goto(url)
      .then(look)
      .then(
        (value) => ({ value }),
        () => forgetComplaints(page),
      )
  return (await until(tried, `${url} is loaded`)).value
}

type Loaded = { name: string; nextHopProtocol: string }

const loaded = (page: Page) =>
  page.evaluate<Loaded[]>(
    `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .map(({ name, nextHopProtocol }) => ({ name, nextHopProtocol }))`,
  )

test('a page and all its files come by HTTP/2 and TLS 1.3', NEEDS_PEBBLE, async (t) => {
  const { host } = await createSite(service, as, SITE)
  await untilSecure(t, tlsPort, host)
  const page = await browser.open()
  const { details, entries } = await open(page, `https://${host}:${tlsPort}/`, async (answer) => {
    await page.locator('body[data-ready="fetched"]').waitFor({ timeout: READY_MS })
    const entries = await loaded(page)
    if (entries.length < 1 + 2 + 1 + IMAGES) throw new Error('a file was dropped')
    return { details: await answer?.securityDetails(), entries }
  })
  assert.equal(details?.protocol, 'TLS 1.3')
  assert.match(String(details?.issuer), /Pebble/)
  assert.deepEqual(new Set(entries.map(({ nextHopProtocol }) => nextHopProtocol)), new Set(['h2']))
  assert.equal(await page.evaluate('getComputedStyle(document.body).color'), 'rgb(1, 2, 3)')
  assertQuiet(page)
})

const ECHO = `
  const { createHash } = require('node:crypto')
  server.on('upgrade', (request, socket) => {
    const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
    const accept = createHash('sha1').update(key).digest('base64')
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nupgrade: websocket\\r\\nconnection: upgrade\\r\\nsec-websocket-accept: ' + accept + '\\r\\n\\r\\n')
    // One text frame of five bytes.
    socket.write(Buffer.concat([Buffer.from([0x81, 5]), Buffer.from('hello')]))
    socket.on('error', () => {})
  })`

test('a page opens a WebSocket on the port where it came by HTTP/2', NEEDS_PEBBLE, async (t) => {
  const files = nodeServer('page')
  const html = `response.setHeader('content-type', 'text/html')`
  const app = { ...files, 'server.js': `${nodeServer('page', html)['server.js']}\n${ECHO}` }
  const { host } = await createSite(service, as, app)
  await untilSecure(t, tlsPort, host)
  const page = await browser.open()
  const text = await open(page, `https://${host}:${tlsPort}/`, () =>
    page.evaluate(
      `new Promise((resolve, reject) => {
        const socket = new WebSocket('wss://' + location.host + '/socket')
        socket.onmessage = ({ data }) => resolve(data)
        socket.onerror = socket.onclose = () => reject(new Error('the WebSocket was refused'))
      })`,
    ),
  )
  assert.equal(text, 'hello')
  assert.equal((await loaded(page))[0]?.nextHopProtocol, 'h2')
})

test('the portal is used over HTTPS, and what changes comes by itself', NEEDS_PEBBLE, async (t) => {
  await untilSecure(t, tlsPort, PORTAL)
  const page = await browser.open()
  const { email, password } = ownerOf(service)
  const [banner, field] = [page.getByRole('banner'), page.getByLabel('E-mail')]
  await open(page, '/', async () => {
    await banner.or(field).waitFor({ timeout: READY_MS })
    if (await field.isVisible()) {
      await field.fill(email)
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Log in' }).click()
    }
    await banner.waitFor({ timeout: READY_MS })
  })
  const [cookie] = await page.context().cookies()
  assert.deepEqual([cookie?.secure, cookie?.httpOnly], [true, true])
  assert.equal((await loaded(page))[0]?.nextHopProtocol, 'h2')
  await createApp(service, as, { app: 'made-meanwhile' })
  await until(async () => (await page.getByText('made-meanwhile').count()) > 0, 'the app is shown')
  assertQuiet(page)
})
