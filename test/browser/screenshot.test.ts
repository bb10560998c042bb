/** The picture of the live site in the portal, on a service that has a browser. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { CHROMIUM } from '../support/chromium.ts'
import { deploy } from '../support/service/deploy.ts'
import { createEnvironment } from '../support/service/environment.ts'
import { until } from '../support/until.ts'
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertFits,
  assertQuiet,
  logIn,
  ownerOf,
  SIZES,
  startBrowser,
  startService,
} from './portal.ts'

const service = await startService({ after }, { settings: { HEADLAND_SCREENSHOT_BROWSER: CHROMIUM } })
const browser = await startBrowser({ after }, service)
const as = await service.login()

const siteOf = (colour: string) => ({
  'index.html': `<!doctype html><body style="background: ${colour}; font: 60px sans-serif"><h1>Our shop</h1>`,
})

const ALT = 'Shop as visitors see it; opens the site'
const pictureOn = (page: Page) => page.getByRole('link', { name: ALT }).getByRole('img')

async function make(colour: string) {
  const body = { displayName: 'Shop', branch: 'uploadable', cmsEnvironment: 'cms' }
  const { name, url } = await createEnvironment(service, as, { body })
  await deploy(service, as, name, siteOf(colour))
  await until(async () => {
    const { status, headers } = await service.call(`/v1/${name}/screenshot`, { as })
    return status === 200 && !headers.has('retry-after')
  }, 'there is a picture')
  return { name, url, path: `/${name.replace('accounts/', '')}` }
}

test('the overview shows the site in 16 to 10, on a phone and a large screen, in light and dark, and leads to it', async () => {
  const { path, url } = await make('#fc6')
  const page = await browser.open()
  await logIn(page, ownerOf(service), path)
  const picture = pictureOn(page)
  await picture.waitFor()
  const link = page.getByRole('link', { name: ALT })
  assert.equal(await link.getAttribute('href'), url)
  for (const size of ['wide', 'phone', 'laptop'] as const) {
    await page.setViewportSize(SIZES[size])
    const box = await picture.boundingBox()
    assert.ok(box && Math.abs(box.width / box.height - 1.6) < 0.02, `${size}: ${JSON.stringify(box)}`)
    await assertFits(page, `the overview, ${size}`)
  }
  await assertAccessibleInBoth(page, 'the overview with a picture')
  await page.setViewportSize(SIZES.phone)
  await assertAccessible(page, 'the overview with a picture, on a phone', 'all but colours')
  assertQuiet(page)
})

test('nothing moves when the picture comes', async () => {
  const { path } = await make('#9cf')
  const page = await browser.open()
  await page.addInitScript(`
    window.moved = 0
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value
    }).observe({ type: 'layout-shift', buffered: true })`)
  // The last of the answers that the page needs.
  await page.route('**/screenshot', async (route) => {
    await page.getByText('Loading').first().waitFor({ state: 'attached' })
    await route.continue().catch(() => undefined)
  })
  await logIn(page, ownerOf(service), path)
  await pictureOn(page).waitFor()
  assert.ok(Number(await page.evaluate('window.moved')) < 0.02)
})

test('after a deploy the picture is replaced by itself', async () => {
  const { name, path } = await make('#cf9')
  const page = await browser.open()
  await logIn(page, ownerOf(service), path)
  const picture = pictureOn(page)
  await picture.waitFor()
  const before = await picture.getAttribute('src')
  await deploy(service, as, name, siteOf('#9fc'))
  await until(async () => (await picture.getAttribute('src')) !== before, 'there is another picture')
  assertQuiet(page)
})

test('a site without a picture has its overview as before', async () => {
  const { name } = await createEnvironment(service, as)
  await deploy(service, as, name, { 'notes.html': '<p>no start page' })
  await until(async () => {
    const { status, headers } = await service.call(`/v1/${name}/screenshot`, { as })
    return status === 404 && !headers.has('retry-after')
  }, 'there is no picture')
  const page = await browser.open()
  await logIn(page, ownerOf(service), `/${name.replace('accounts/', '')}`)
  await page.getByRole('heading', { name: 'Details' }).waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  assert.equal(await page.getByText('A picture is being taken').count(), 0)
})
