/**
 * What the WordPress plugin shows of a build, in a real WordPress and a real browser, with a small server in place of Headland.
 * Takes half a minute: `npm run test:frameworks`.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, type TestContext, test } from 'node:test'
import { chromium, type Page } from 'playwright-core'
import { CHROMIUM } from '../support/chromium.ts'
import { type Handle, TOKEN, takes } from '../support/edge/hook.ts'
import { pluginIn } from '../support/service/plugin.ts'
import { addAddress, startWordPress, type WordPress } from '../support/service/wordpress.ts'
import { TIMEOUT_MS, until } from '../support/until.ts'

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const OPEN_TRIES = 4
const isRoot = process.getuid?.() === 0
const skip = isRoot ? false : 'only root can give this machine one more address'

describe('what the plugin shows of a build', { skip }, async () => {
  if (!isRoot) return
  const wordpress: WordPress = await startWordPress(file, { address: await addAddress(file) })
  const { start, quiet } = pluginIn(wordpress)

  /** Takes calls, and answers reads of the operation as the test says. */
  const answering =
    (answer: () => { status?: number; body?: unknown }): Handle =>
    (response, count, request) => {
      if (request.method === 'POST') return takes(response, count)
      const { status = 200, body = {} } = answer()
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }

  const PAGES = { buildUrl: 'https://headland.test/a/builds/b-1', siteUrl: 'https://site.test' }
  const SHOW = { text: 'Show the build', url: PAGES.buildUrl }

  test('the dashboard follows the build from waiting to its end, with links', async (t) => {
    let body: Record<string, unknown> = {}
    const { calls } = await start(t, { handle: answering(() => ({ body: { ...PAGES, ...body } })) })
    await wordpress.publish('followed')
    await until(() => calls.length === 1, 'the call')
    await quiet()
    const soon = new Date(Date.now() + 3_600_000)
    const steps = [
      [
        { state: 'WAITING', waitingUntil: soon.toISOString() },
        /^waiting until \d\d:\d\d:\d\d, in case more changes come$/,
        [SHOW],
        false,
      ],
      [{ state: 'WAITING' }, /^waiting for its turn$/, [SHOW], false],
      [{ state: 'BUILDING', phase: 'INSTALLING' }, /^building$/, [SHOW], false],
      [{ state: 'LIVE' }, /^live$/, [{ text: 'Open the site', url: PAGES.siteUrl }, SHOW], true],
    ] as const
    for (const [given, words, links, done] of steps) {
      body = given
      const shown = await until(async () => {
        const now = await wordpress.progress()
        return words.test(now.build) ? now : undefined
      }, `the dashboard says ${words}`)
      assert.deepEqual([shown.links, shown.done, shown.wait > 0], [links, done, 'waitingUntil' in given])
    }
    const [, read] = calls
    assert.equal(read?.method, 'GET')
    assert.equal(read?.url, `/wh/webhooks/webhook:rebuild/operations/op-1?token=${TOKEN}`)
    assert.doesNotMatch(JSON.stringify(read?.headers), /Secret/)
    const asked = calls.length
    await wordpress.progress()
    assert.equal(calls.length, asked, 'a finished build is not polled again')
    const page = await wordpress.admin('index.php')
    assert.match(page, /role="status"[^>]*>live<.*href="https:\/\/site\.test">Open the site/)
    assert.doesNotMatch(page, /op-1/)
  })

  test('a failure is shown with its message, and only text and URLs of pages are taken from the response', async (t) => {
    const script = '<img src=x onerror="window.hacked = true">Nothing was built.'
    const body = {
      state: 'FAILED',
      reason: 'NO_OUTPUT<b>',
      message: script,
      buildUrl: 'javascript:alert(1)',
      siteUrl: 'data:text/html,x',
    }
    const { calls } = await start(t, { handle: answering(() => ({ body })) })
    await wordpress.publish('fails there')
    await until(() => calls.length === 1, 'the call')
    await quiet()
    const { build, links, done } = await wordpress.progress()
    assert.deepEqual(
      [build, links, done],
      ['failed (NO_OUTPUT): Nothing was built. Visitors get what they got before.', [], true],
    )
    assert.doesNotMatch(await wordpress.admin('index.php'), /onerror|javascript:alert|data:text/)
  })

  test('an older Headland without this endpoint is called once', async (t) => {
    const { calls } = await start(t, { handle: answering(() => ({ status: 405 })) })
    await wordpress.publish('taken')
    await until(() => calls.length === 1, 'the call')
    await quiet()
    for (const _ of ['once', 'twice']) {
      const { build, links, done } = await wordpress.progress()
      assert.deepEqual([build, links, done], ['accounts/a/operations/op-1', [], true])
    }
    assert.equal(calls.length, 2)
  })

  test('a Headland that is down for a moment is called again, and the last known state stays', async (t) => {
    const answers = [{ body: { state: 'BUILDING', ...PAGES } }, { status: 503 }, { body: { state: 'LIVE', ...PAGES } }]
    const { calls } = await start(t, { handle: answering(() => answers.shift() ?? {}) })
    await wordpress.publish('away')
    await until(() => calls.length === 1, 'the call')
    await quiet()
    const seen: string[] = []
    await until(async () => {
      const { build, done } = await wordpress.progress()
      if (build !== seen.at(-1)) seen.push(build)
      return done
    }, 'the end')
    assert.deepEqual(seen, ['building', 'live'])
    assert.equal(calls.length, 4)
  })

  test('only users who may change the settings see the build, with a nonce, and never the token', async (t) => {
    const { calls } = await start(t, { handle: answering(() => ({ body: { state: 'BUILDING', ...PAGES } })) })
    await wordpress.publish('asked for')
    await until(() => calls.length === 1, 'the call')
    await quiet()
    const ajax = `${wordpress.url}/wp-admin/admin-ajax.php`
    const stranger = await fetch(ajax, { method: 'POST', body: new URLSearchParams({ action: 'headland_progress' }) })
    assert.equal(stranger.status, 400)
    await assert.rejects(wordpress.admin('admin-ajax.php', { action: 'headland_progress', _ajax_nonce: 'x' }), /403/)
    const asSubscriber = `define('WP_ADMIN', true); define('DOING_AJAX', true); require 'wp-load.php';
      wp_set_current_user(wp_insert_user(['user_login' => uniqid(), 'user_pass' => 'x', 'role' => 'subscriber']));
      $_REQUEST['_ajax_nonce'] = wp_create_nonce('headland_progress'); do_action('wp_ajax_headland_progress');`
    assert.match(await wordpress.inWordPress(asSubscriber), /"success":false/)
    assert.equal(calls.length, 1, 'Headland was not called')
    assert.doesNotMatch(JSON.stringify(await wordpress.progress()), /Secret/)
    assert.doesNotMatch(await wordpress.admin('index.php'), /Secret/)
  })

  test('a browser shows the progress of the build without a reload, and stores no secret', async (t) => {
    let body: Record<string, unknown> = { state: 'BUILDING', ...PAGES }
    const { calls } = await start(t, { handle: answering(() => ({ body })) })
    await wordpress.publish('watched')
    await until(() => calls.length === 1, 'the call')
    await quiet()
    const page = await openDashboard(t, 'building')
    const words = page.locator('#headland_build_words')
    await keepPicture(page, 'building')
    const failed = { state: 'FAILED', reason: 'CMS_UNREACHABLE', message: '<b>The CMS</b> did not answer.' }
    body = { ...failed, ...PAGES }
    await until(async () => /^failed /.test((await words.textContent()) ?? ''), 'it shows the failure')
    assert.equal(await page.locator('#headland_links a').getAttribute('href'), PAGES.buildUrl)
    await keepPicture(page, 'failed')
    assert.doesNotMatch(await page.content(), /Secret-of/)
  })

  /**
   * The dashboard in a real browser, as the administrator, once it shows these words. Chromium drops requests whenever
   * a network interface is added or removed, and builds of other tests add interfaces: if a script is lost that way,
   * the page is opened once more.
   */
  async function openDashboard(scope: TestContext, shown: string): Promise<Page> {
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ['--no-sandbox', '--disable-gpu'],
    })
    scope.after(() => browser.close())
    const context = await browser.newContext({ baseURL: wordpress.url, viewport: { width: 1280, height: 900 } })
    const cookies = (await wordpress.logIn()).split('; ').map((cookie) => cookie.split('='))
    await context.addCookies(cookies.map(([name = '', value = '']) => ({ name, value, url: `${wordpress.url}/` })))
    const page = await context.newPage()
    page.setDefaultTimeout(TIMEOUT_MS)
    const words = page.locator('#headland_build_words').getByText(shown, { exact: true })
    for (let tries = 1; tries <= OPEN_TRIES; tries++) {
      const isShown = await page
        .goto('/wp-admin/index.php')
        .then(() => words.waitFor({ timeout: TIMEOUT_MS / OPEN_TRIES }))
        .then(() => true)
        .catch(() => false)
      if (isShown) return page
    }
    return assert.fail(`the dashboard does not show ${shown}: ${await page.locator('#headland').textContent()}`)
  }

  /** A screenshot for review, if PICTURES names a folder. */
  async function keepPicture(page: Page, name: string) {
    const folder = process.env.PICTURES
    if (folder) await page.locator('#headland').screenshot({ path: join(folder, `widget-${name}.png`) })
  }
})
