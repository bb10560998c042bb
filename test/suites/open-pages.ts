/**
 * A page that stays open in a real browser over three deployments, and then loads a part of itself: of each framework
 * that serves its own scripts. The service keeps one deployment beside the live one.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { CHROMIUM } from '../support/chromium.ts'
import type { Scope } from '../support/folder.ts'
import { deploy, type Files, page as plainPage } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { EXAMPLES, type Place } from '../support/service/examples.ts'
import { TIMEOUT_MS } from '../support/until.ts'

/** Its page has a button that loads another script, and shows the text of that. */
type App = {
  /** The example with its packages. */
  example: string
  /** Files of the example that are used as they are. */
  takes: readonly string[]
  files: Files
  /** Where the script that is loaded by the button is put. */
  lazy: string
}

/** `main[data-ready]`: the page reacts to the button. */
const REACT = `import { useEffect, useState } from 'react'
  export default function Home() {
    const [text, setText] = useState('')
    const [isReady, setReady] = useState(false)
    useEffect(() => setReady(true), [])
    return <main data-ready={isReady || undefined}>
      <button onClick={async () => setText((await import('LAZY')).text)}>Load</button><output>{text}</output>
    </main>
  }`

const APPS: Record<string, App> = {
  'Next.js': {
    example: 'next',
    takes: ['app/layout.jsx'],
    files: { 'app/page.jsx': `'use client'\n${REACT.replace('LAZY', './lazy.js')}` },
    lazy: 'app/lazy.js',
  },
  'React Router': {
    example: 'react-router',
    takes: ['app/root.jsx', 'vite.config.js'],
    files: {
      'app/routes.js': `import { index } from '@react-router/dev/routes'\nexport default [index('home.jsx')]`,
      'app/home.jsx': REACT.replace('LAZY', './lazy.js'),
    },
    lazy: 'app/lazy.js',
  },
  Astro: {
    example: 'astro-node',
    takes: ['astro.config.mjs'],
    files: {
      'src/pages/index.astro': `<html lang="en"><head><title>Astro</title></head><body>
        <main><button>Load</button><output></output></main>
        <script>
          document.querySelector('button').onclick = async () => {
            document.querySelector('output').textContent = (await import('../lazy.js')).text
          }
          document.querySelector('main').dataset.ready = 'true'
        </script></body></html>`,
    },
    lazy: 'src/lazy.js',
  },
  SvelteKit: {
    example: 'sveltekit',
    takes: ['src/app.html', 'vite.config.js'],
    files: {
      'src/routes/+page.svelte': `<script>
          import { onMount } from 'svelte'
          let text = $state('')
          let isReady = $state(false)
          onMount(() => { isReady = true })
          const load = async () => { text = (await import('../lazy.js')).text }
        </script>
        <main data-ready={isReady || undefined}><button onclick={load}>Load</button><output>{text}</output></main>`,
    },
    lazy: 'src/lazy.js',
  },
  Nuxt: {
    example: 'nuxt',
    takes: [],
    files: {
      // Without the hook, the page fetches the part in advance.
      'nuxt.config.ts': `export default defineNuxtConfig({
        compatibilityDate: '2026-09-01',
        telemetry: false,
        hooks: {
          'build:manifest'(manifest) {
            for (const item of Object.values(manifest)) Object.assign(item, { dynamicImports: [], prefetch: false })
          },
        },
      })`,
      'app/pages/index.vue': `<script setup>
          const text = ref('')
          const isReady = ref(false)
          onMounted(() => { isReady.value = true })
          const load = async () => { text.value = (await import('~/lazy.js')).text }
        </script>
        <template>
          <main :data-ready="isReady || undefined"><button @click="load">Load</button><output>{{ text }}</output></main>
        </template>`,
    },
    lazy: 'app/lazy.js',
  },
}

/**
 * Chromium drops requests whenever a network interface is added or removed, and builds add interfaces. A page that lost
 * its request that way proves nothing, so there are several.
 */
const PAGES = 4

async function filesOf({ example, takes, files, lazy }: App, version: number): Promise<Files> {
  const taken = ['package.json', 'package-lock.json', ...takes]
  const contents = await Promise.all(taken.map((path) => readFile(join(EXAMPLES, example, path))))
  return {
    ...Object.fromEntries(taken.map((path, at) => [path, contents[at] as Buffer])),
    ...files,
    [lazy]: `export const text = 'part of version ${version}'\n`,
  }
}

async function openPage(browser: Browser, url: string): Promise<Page> {
  const context = await browser.newContext()
  const page = await context.newPage()
  page.setDefaultTimeout(TIMEOUT_MS)
  for (let tries = 0; ; tries++) {
    const isReady = await page
      .goto(url)
      .then(() => page.waitForSelector('main[data-ready]', { timeout: 15_000 }))
      .then(
        () => true,
        (error: Error) => (tries < 5 ? false : Promise.reject(error)),
      )
    if (isReady) return page
  }
}

/** The text of the part that the page loads, and from where; undefined where the request was dropped. */
async function loadPart(page: Page): Promise<{ text: string; paths: string[] } | undefined> {
  const paths: string[] = []
  let isDropped = false
  page.on('response', (response) => paths.push(new URL(response.url()).pathname))
  const dropped = new Promise<void>((resolve) =>
    page.on('requestfailed', (request) => {
      isDropped = request.failure()?.errorText === 'net::ERR_NETWORK_CHANGED'
      resolve()
    }),
  )
  await page.click('button')
  await Promise.race([page.locator('output:not(:empty)').waitFor({ state: 'attached' }), dropped])
  if (isDropped) return undefined
  return { text: (await page.textContent('output')) ?? '', paths }
}

/** The one between the two of the framework is a plain file. */
async function run({ service, as }: Place, browser: Browser, app: App) {
  const { name, url } = await createEnvironment(service, as)
  const live = async (files: Files) => {
    const done = await deploy(service, as, name, files)
    const log = done.error ? await service.call(`/v1/${done.metadata.build}/log`, { as }) : undefined
    assert.equal(done.error, undefined, `${JSON.stringify(done.error)}\n${log?.text}`)
  }
  await live(await filesOf(app, 1))
  const pages: Page[] = []
  for (let count = 0; count < PAGES; count++) pages.push(await openPage(browser, url))
  await live(plainPage('version 2'))
  await live(await filesOf(app, 3))
  return { pages, fresh: await openPage(browser, url), url }
}

export function openPagesSuite(file: Scope, place: Place, isChosen: (example: string) => boolean) {
  const apps = Object.entries(APPS).filter(([, { example }]) => isChosen(example))

  if (apps.length === 0) return

  describe('a page that stays open', () => {
    const runs = new Map<string, ReturnType<typeof run>>()

    // All at once: the service builds two at a time. No build of theirs runs when the pages load their parts.
    before(async () => {
      const browser = await startBrowser(file)
      for (const [name, app] of apps) runs.set(name, run(place, browser, app))
      await Promise.allSettled(runs.values())
    })

    for (const [name] of apps)
      test(`${name}: a page that was open over three deployments loads a part of its own version`, async () => {
        const { pages, fresh, url } = (await runs.get(name)) ?? assert.fail()
        let loaded: Awaited<ReturnType<typeof loadPart>>
        for (const page of pages) loaded ??= await loadPart(page)
        assert.equal(loaded?.text, 'part of version 1')
        assert.ok(loaded && loaded.paths.length > 0, 'the part was not loaded before')
        for (const path of loaded.paths) {
          const { status, headers } = await siteAnswer(place.service, url, path)
          assert.deepEqual([status, headers['cache-status']], [200, 'headland; hit; detail=earlier-file'], path)
        }
        const now = await loadPart(fresh)
        assert.ok(now === undefined || now.text === 'part of version 3')
        for (const page of [...pages, fresh]) await page.context().close()
      })
  })
}

async function startBrowser(file: Scope): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-dev-shm-usage',
    ],
    timeout: TIMEOUT_MS,
  })
  file.after(() => browser.close())
  return browser
}
