/** The portal in a real browser, on the real service. Any complaint of the browser fails the test. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { afterEach, beforeEach } from 'node:test'
import { type Browser, type BrowserContext, chromium, type Page, type Request } from 'playwright-core'
import { createAccounts, createUsers, type Users } from '../../src/accounts/index.ts'
import { createIds, systemClock } from '../../src/base/index.ts'
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
  // All pages of a profile are in one process, which keeps the compiled portal.
  '--process-per-site',
]

export const SIZES = {
  phone: { width: 360, height: 740 },
  laptop: { width: 1280, height: 800 },
  wide: { width: 2560, height: 1440 },
} as const

export type Look = { size?: keyof typeof SIZES; scheme?: 'light' | 'dark' }

export type TestBrowser = {
  /** A page without cookies and stored data, which is closed with the test that opened it. */
  open(look?: Look): Promise<Page>
}

/** What ends with the current test. Unclosed, pages would keep rendering changes for as long as the browser runs. */
let ends: (() => Promise<void>)[] = []
beforeEach(() => {
  ends = []
})
afterEach(async () => {
  await Promise.all(ends.map((end) => end()))
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
  const free: Profile[] = []
  return {
    async open({ size = 'laptop', scheme = 'light' } = {}) {
      const profile =
        free.pop() ?? (await createProfile(browser, { baseURL, ignoresCertificates: ownNames !== undefined }))
      ends.push(async () => {
        await profile.clear()
        free.push(profile)
      })
      const page = await profile.context.newPage()
      watch(page)
      await page.setViewportSize(SIZES[size])
      await page.emulateMedia({ colorScheme: scheme })
      return page
    },
  }
}

type Profile = { context: BrowserContext; clear(): Promise<void> }

/**
 * Cookies, stored data and the cache of one user. The next test that gets it finds the cache: to load and compile the portal
 * anew takes more CPU time than most of what tests do with it. An empty page keeps its process running between tests.
 */
async function createProfile(
  browser: Browser,
  { baseURL, ignoresCertificates }: { baseURL: string; ignoresCertificates: boolean },
): Promise<Profile> {
  const context = await browser.newContext({
    baseURL,
    ignoreHTTPSErrors: ignoresCertificates,
    viewport: SIZES.laptop,
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(TIMEOUT_MS)
  const empty = await context.newPage()
  await empty.route('**', (route) => route.fulfill({ contentType: 'text/html', body: '' }))
  await empty.goto('/')
  const session = await context.newCDPSession(empty)
  return {
    context,
    async clear() {
      await Promise.all(context.pages().map((page) => page !== empty && page.close()))
      await context.clearCookies()
      await session.send('Storage.clearDataForOrigin', {
        origin: new URL(baseURL).origin,
        storageTypes: 'local_storage',
      })
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

/** What the browser complained about so far is of a load that was lost, and is made again. */
export function forgetComplaints(page: Page): undefined {
  complaints.get(page)?.splice(0)
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
export const makePerson = (
  service: TestService,
  role: 'viewer' | 'developer' | 'owner',
  { email = `${role}@example.com`, account = 'default', makeAccount = false } = {},
): Promise<Person> =>
  asOperator(service, async (users) => {
    const { password } = await users.create(email, account, role, { makeAccount })
    assert.ok(password, `${email} is new`)
    return { email, password: password.reveal() }
  })

/** A new password of a user, made by the operator. */
export const resetPassword = (service: TestService, email: string): Promise<string> =>
  asOperator(service, async (users) => (await users.resetPassword(email)).password.reveal())

/** As `headland users` works, but in this process: a command takes more CPU time than most pages. */
async function asOperator<T>(service: TestService, work: (users: Users) => Promise<T>): Promise<T> {
  const sql = await service.openSql()
  try {
    const parts = { sql, clock: systemClock, newId: createIds(systemClock) }
    return await work(createUsers({ ...parts, accounts: createAccounts(parts) }))
  } finally {
    await sql.close()
  }
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
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The rule that depends on colours alone. It takes more time than all others together. */
const COLOUR_RULE = 'color-contrast'

/** What axe is to check: in another scheme only the colours differ, and in another size everything else may. */
export type Rules = 'all' | 'colours' | 'all but colours'
const RULES: Record<Rules, object> = {
  all: { runOnly: TAGS },
  colours: { runOnly: [COLOUR_RULE] },
  'all but colours': { runOnly: TAGS, rules: { [COLOUR_RULE]: { enabled: false } } },
}

/** Fails if one of these rules is broken. */
export async function assertAccessible(page: Page, what: string, rules: Rules = 'all') {
  // A page has its heading when it is drawn, which may be after the frame around it.
  await page.locator('h1').first().waitFor({ state: 'attached' })
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(await readFile(AXE, 'utf8'))
  // Of what passes, axe describes one element per rule instead of all.
  const options = JSON.stringify({ ...RULES[rules], resultTypes: ['violations'] })
  const violations = (await page.evaluate(
    `axe.run(document, ${options}).then(({ violations }) => violations)`,
  )) as Violation[]
  const complaints = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes.map(({ target, failureSummary }) => `  ${target.join(' ')}: ${failureSummary.replaceAll('\n', ' ')}`).join('\n')}`,
  )
  assert.equal(complaints.length, 0, `${what}:\n${complaints.join('\n')}`)
}

/** Fails if one of the rules is broken in light or in dark. */
export async function assertAccessibleInBoth(page: Page, what: string) {
  await page.emulateMedia({ colorScheme: 'dark' })
  await assertAccessible(page, `${what}, dark`, 'colours')
  await page.emulateMedia({ colorScheme: 'light' })
  await assertAccessible(page, `${what}, light`)
}

/** Fails if the page is wider than its window. */
export async function assertFits(page: Page, what: string) {
  const { content, window } = (await page.evaluate(
    '({ content: document.documentElement.scrollWidth, window: document.documentElement.clientWidth })',
  )) as { content: number; window: number }
  assert.ok(content <= window, `${what} is ${content} px wide in a window of ${window}`)
}

export { startService }
