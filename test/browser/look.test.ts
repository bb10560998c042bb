/** The pages work on small and large screens, in light and dark, with keyboards and screen readers. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { deploy, page as siteOf } from '../support/service/deploy.ts'
import { createApp, createEnvironment } from '../support/service/environment.ts'
import { startService } from '../support/service/service.ts'
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertFits,
  assertQuiet,
  logIn,
  ownerOf,
  SIZES,
  startBrowser,
  visit,
} from './portal.ts'

const service = await startService({ after })
const browser = await startBrowser({ after }, service)

/** As long as the API allows, without a place to break. */
const LONG = 'W'.repeat(40)
const LONG_NAME = `Production ${'m'.repeat(85)}`

type Visit = { what: string; path: string /** Shown once everything has come. */; sign: string }
const visits: Visit[] = []

before(async () => {
  const as = await service.login()
  const body = { displayName: 'Production', branch: 'uploadable', cmsEnvironment: 'my-wordpress' }
  const app = await createApp(service, as, { app: 'blog' })
  const live = await createEnvironment(service, as, { app, body })
  await createEnvironment(service, as, { app, body: { ...body, displayName: 'Staging' } })
  const long = await createApp(service, as, { app: LONG })
  const empty = await createEnvironment(service, as, {
    app: long,
    body: { ...body, displayName: LONG_NAME, cmsEnvironment: 'c'.repeat(100) },
  })
  await deploy(service, as, live.name, siteOf('hello'))
  const build = 'node -e "process.exit(3)"'
  await deploy(service, as, live.name, { 'package.json': JSON.stringify({ scripts: { build, start: 'node x' } }) })
  const at = ({ name }: { name: string }) => `/${name.replace('accounts/', '')}`
  visits.push(
    { what: 'the apps', path: '/default/apps', sign: 'Live, last build failed' },
    { what: 'an app', path: '/default/apps/blog', sign: 'Live, last build failed' },
    { what: 'an app with a long name', path: `/default/apps/${LONG}`, sign: 'Nothing deployed' },
    { what: 'a new app', path: '/default/new-app', sign: 'Create app' },
    { what: 'a new environment', path: '/default/apps/blog/new-environment', sign: 'Create environment' },
    { what: 'an environment', path: at(live), sign: 'BUILD_SCRIPT_FAILED' },
    { what: 'an empty environment', path: at(empty), sign: 'Deploy your app' },
    { what: 'the publishes', path: `${at(live)}/publishes`, sign: 'BUILD_SCRIPT_FAILED' },
    { what: 'the settings', path: `${at(live)}/settings`, sign: 'Delete environment' },
    { what: 'an address that leads nowhere', path: '/default/nothing', sign: 'Go to the apps' },
    { what: 'the documentation', path: '/docs/', sign: 'has every call' },
    { what: 'a guide', path: '/docs/guides/webhooks', sign: 'On this page' },
    { what: 'a search of the documentation', path: '/docs/search?q=webhook', sign: 'the best first' },
  )
})

const shown = (page: Page, text: string) => page.getByText(text).first().waitFor()

type Shift = [value: number, where: unknown]

test('every page meets WCAG in light and dark, fits a phone and a very large screen, and does not move while data arrives', async () => {
  const page = await browser.open()
  await page.goto('/')
  await shown(page, 'Log in to Headland')
  await assertAccessibleInBoth(page, 'the log-in')
  await logIn(page, ownerOf(service))
  await page.addInitScript(`
    window.moved = []
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved.push([entry.value, entry.sources?.map(({ node }) => node?.className ?? node?.parentElement?.className)])
    }).observe({ type: 'layout-shift', buffered: true })`)
  // Slow enough that each response is a separate step.
  await page.route('**/v1/**', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 40 + Math.random() * 200))
    await route.continue().catch(() => undefined)
  })
  for (const { what, path, sign } of visits) {
    await page.setViewportSize(SIZES.laptop)
    await visit(page, path)
    await shown(page, sign)
    const moved = (await page.evaluate('window.moved')) as Shift[]
    const total = moved.reduce((sum, [value]) => sum + value, 0)
    assert.ok(total < 0.02, `${what} moved by ${total}: ${JSON.stringify(moved)}`)
    await assertAccessibleInBoth(page, what)
    for (const size of ['wide', 'phone'] as const) {
      await page.setViewportSize(SIZES[size])
      await assertFits(page, `${what}, ${size}`)
    }
    await assertAccessible(page, `${what}, on a phone`, 'all but colours')
    assertQuiet(page)
  }
})

test('dialogs and menus meet WCAG', async () => {
  const page = await browser.open({ size: 'phone' })
  await logIn(page, ownerOf(service), '/default/apps/blog')
  await page.getByRole('button', { name: /^Menu of/ }).click()
  await shown(page, 'Log out')
  await assertAccessible(page, 'the menu')
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
  await page.getByRole('dialog').waitFor()
  await assertAccessible(page, 'the shortcuts')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Delete app' }).click()
  await page.getByRole('dialog').waitFor()
  await assertAccessible(page, 'a question')
  await assertFits(page, 'a question')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const focused = await page.evaluate('document.activeElement.textContent')
  assert.equal(focused, 'Delete app', 'the focus is where it was before')
  assertQuiet(page)
})

test('there is no motion if the user prefers reduced motion', async () => {
  const page = await browser.open()
  await logIn(page, ownerOf(service))
  const running = await page.evaluate(
    'document.getAnimations().filter((each) => each.effect.getComputedTiming().duration > 10).length',
  )
  assert.equal(running, 0)
})
