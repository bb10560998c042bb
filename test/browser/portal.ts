/** The portal in a real browser, on the real service. Any complaint of the browser fails the test. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { afterEach, beforeEach } from 'node:test'
import { type Browser, type BrowserContext, chromium, type Page, type Request } from 'playwright-core'
import { CHROMIUM } from '../support/chromium.ts'
import type { Scope } from '../support/folder.ts'
import { startService, type TestService } from '../support/service/service.ts'
import { TIMEOUT_MS, until } from '../support/until.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Chromium makes no requests of its own: tests run without a network, and as root in a container. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
]

export const SIZES = {
  phone: { width: 360, height: 740 },
  laptop: { width: 1280, height: 800 },
  wide: { width: 2560, height: 1440 },
} as const

export type Look = { size?: keyof typeof SIZES; scheme?: 'light' | 'dark' }

export type TestBrowser = {
  /** A browser context without cookies, closed with the test that opened it. */
  open(look?: Look): Promise<Page>
}

/** Pages that a test has opened. Unclosed, they would keep rendering changes for as long as the browser runs. */
let opened: BrowserContext[] = []
beforeEach(() => {
  opened = []
})
afterEach(async () => {
  await Promise.all(opened.map((context) => context.close()))
})

type BrowserOptions = {
  /** Where the portal is, if not at the API's own address. */
  baseURL?: string
  /** Names that lead to this machine, as `*.example.com`; their certificates need not be of a CA that Chromium knows. */
  ownNames?: string
}

export async function startBrowser(
  t: Scope,
  service: TestService,
  { baseURL = service.api, ownNames }: BrowserOptions = {},
): Promise<TestBrowser> {
  const browser: Browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ownNames === undefined ? FLAGS : [...FLAGS, `--host-resolver-rules=MAP ${ownNames} 127.0.0.1`],
    timeout: TIMEOUT_MS,
  })
  t.after(() => browser.close())
  await portalReady(service)
  return {
    async open({ size = 'laptop', scheme = 'light' } = {}) {
      const context: BrowserContext = await browser.newContext({
        baseURL,
        ignoreHTTPSErrors: ownNames !== undefined,
        viewport: SIZES[size],
        colorScheme: scheme,
        reducedMotion: 'reduce',
        permissions: ['clipboard-read', 'clipboard-write'],
      })
      opened.push(context)
      context.setDefaultTimeout(TIMEOUT_MS)
      const page = await context.newPage()
      watch(page)
      return page
    },
  }
}

/** The first service after a change builds the portal; the tests wait for it. */
export async function portalReady(service: TestService) {
  const isThere = async () => (await fetch(service.api, { headers: { accept: 'text/html' } })).status === 200
  await until(isThere, 'the portal is there').catch((cause) => {
    throw new Error(`the portal is not there:\n${service.log()}`, { cause })
  })
}

const complaints = new WeakMap<Page, string[]>()

/** Records complaints of the browser: script errors, violations of the page's Content-Security-Policy. */
function watch(page: Page) {
  const list: string[] = []
  complaints.set(page, list)
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    // An answer of 4xx or 5xx is a line of its own in the console; pages show those themselves.
    if (!message.text().startsWith('Failed to load resource')) list.push(message.text())
  })
  page.on('pageerror', (error) => list.push(String(error)))
}

/** Fails if the browser complained since the last check. */
export function assertQuiet(page: Page) {
  assert.deepEqual(complaints.get(page)?.splice(0), [], 'the browser complained')
}

export type Person = {
  email: string
  password: string
  /** Tests share one session of this person. */
  isShared?: true
}

/** The owner that the first start made. */
export const ownerOf = (service: TestService): Person => ({ ...service.owner(), isShared: true })

/** Another person of the account, made by the operator. */
export async function makePerson(
  service: TestService,
  role: 'viewer' | 'developer' | 'owner',
  { email = `${role}@example.com`, account = 'default' } = {},
): Promise<Person> {
  const created = JSON.parse(
    await service.operator('users', 'create', email, '--account', account, '--role', role, '--json'),
  )
  return { email, password: created.password }
}

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>

/** By password. To compare one takes more CPU time than to show most pages. */
const sharedSessions = new Map<string, Cookies>()

/** Opens a page as this person. That the log-in page works is a test of its own. */
export async function logIn(page: Page, { email, password, isShared }: Person, path = '/') {
  const shared = isShared && sharedSessions.get(password)
  if (shared) await page.context().addCookies(shared)
  if (!shared || (await page.request.get('/v1/session')).status() !== 200) {
    const answer = await page.request.post('/v1/session', { data: { email, password } })
    assert.equal(answer.status(), 200, await answer.text())
    sharedSessions.set(password, await page.context().cookies())
  }
  await visit(page, path)
}

const VISIT_TRIES = 8

/**
 * Opens a page as a logged-in user. Chromium drops requests whenever a network interface is added or removed, and
 * builds add interfaces: if the first script is lost that way, the page is loaded again, as a user would.
 */
export async function visit(page: Page, path: string) {
  for (let tries = 1; tries < VISIT_TRIES; tries++) {
    const lost = Promise.withResolvers<false>()
    const onFailure = (request: Request) => {
      if (request.failure()?.errorText === 'net::ERR_NETWORK_CHANGED') lost.resolve(false)
    }
    page.on('requestfailed', onFailure)
    const shown = page
      .goto(path)
      .then(() => page.getByRole('banner').waitFor({ timeout: TIMEOUT_MS / VISIT_TRIES }))
      .then(() => true)
      .catch(() => false)
    const isThere = await Promise.race([shown, lost.promise])
    page.off('requestfailed', onFailure)
    if (isThere) return
  }
  // Chromium may load it again by itself at the same time, which ends this navigation.
  await page.goto(path).catch(() => undefined)
  await page.getByRole('banner').waitFor()
}

type Violation = { id: string; impact: string; help: string; nodes: { target: string[]; failureSummary: string }[] }

/** All rules of axe for WCAG 2.2 A and AA, and for best practice. */
const ALL_RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The rules that depend on colours alone. */
export const COLOUR_RULES = ['color-contrast']

/** Fails if one of these rules is broken. */
export async function assertAccessible(page: Page, what: string, rules: readonly string[] = ALL_RULES) {
  // A page has its heading when it is drawn, which may be after the frame around it.
  await page.locator('h1').first().waitFor({ state: 'attached' })
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(await readFile(AXE, 'utf8'))
  // Of what passes, axe describes one element per rule instead of all.
  const options = JSON.stringify({ runOnly: rules, resultTypes: ['violations'] })
  const violations = (await page.evaluate(
    `axe.run(document, ${options}).then(({ violations }) => violations)`,
  )) as Violation[]
  const complaints = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes.map(({ target, failureSummary }) => `  ${target.join(' ')}: ${failureSummary.replaceAll('\n', ' ')}`).join('\n')}`,
  )
  assert.equal(complaints.length, 0, `${what}:\n${complaints.join('\n')}`)
}

/** Fails if the page is wider than its window. */
export async function assertFits(page: Page, what: string) {
  const { content, window } = (await page.evaluate(
    '({ content: document.documentElement.scrollWidth, window: document.documentElement.clientWidth })',
  )) as { content: number; window: number }
  assert.ok(content <= window, `${what} is ${content} px wide in a window of ${window}`)
}

export { startService }
