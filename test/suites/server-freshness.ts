/**
 * No operation makes a page of Nuxt or Astro older. Both cache in the memory of the process, so a new process reads the
 * CMS. Every response is compared with the newest text that its page has shown before.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Cms } from '../support/service/cms.ts'
import type { Files } from '../support/service/deploy.ts'
import { EXAMPLES, type Place } from '../support/service/examples.ts'
import { deployNumberedSite, type NumberedSite } from '../support/service/numbered-site.ts'

const readText = '(await (await fetch(process.env.CMS_URL + "/text")).text())'

/** Route rules, a cached handler, and one that runs for each request. */
const NUXT: Files = {
  'nuxt.config.ts': `export default defineNuxtConfig({
    compatibilityDate: '2026-09-01',
    telemetry: false,
    routeRules: { '/swr': { swr: 3600 } },
  })`,
  'server/routes/swr.js': `export default defineEventHandler(async () => ${readText})`,
  'server/routes/handler.js': `export default defineCachedEventHandler(async () => ${readText}, { maxAge: 3600, swr: true })`,
  'server/routes/live.js': `export default defineEventHandler(async () => ${readText})`,
  'app/pages/index.vue': '<template><p>Nuxt</p></template>',
}

const ASTRO: Files = {
  'astro.config.mjs': `import node from '@astrojs/node'
    import { defineConfig, memoryCache } from 'astro/config'
    export default defineConfig({
      output: 'server',
      adapter: node({ mode: 'standalone' }),
      cache: { provider: memoryCache() },
      routeRules: { '/swr': { maxAge: 3600, swr: 3600 } },
    })`,
  'src/pages/swr.astro': `---\nconst text = ${readText}\n---\n<p>{text}</p>`,
  'src/pages/live.astro': `---\nconst text = ${readText}\n---\n<p>{text}</p>`,
}

const APPS = [
  { name: 'nuxt', files: NUXT, cached: ['/swr', '/handler'] },
  { name: 'astro-node', files: ASTRO, cached: ['/swr'] },
]

/** `restart` stops the service and starts it again. */
export function serverFreshnessSuite(
  place: Place & { restart(): Promise<void> },
  cms: Cms,
  isChosen: (example: string) => boolean,
) {
  const apps = APPS.filter(({ name }) => isChosen(name))
  if (apps.length === 0) return

  describe('an app that keeps pages in memory', () => {
    const sites: Record<string, NumberedSite> = {}

    for (const { name, files, cached } of apps) {
      const all = [...cached, '/live']

      test(`${name}: builds, activations, variables and purges`, async () => {
        const { service, as } = place
        const read = (path: string) => readFile(join(EXAMPLES, name, path))
        const packages = {
          'package.json': await read('package.json'),
          'package-lock.json': await read('package-lock.json'),
        }
        const site = await deployNumberedSite({ service, as, cms, name, files: { ...files, ...packages } })
        sites[name] = site
        await site.allShow(all, cms.number())
        const change = async (operate: () => Promise<unknown>) => {
          const number = cms.write()
          await operate()
          await site.allShow(all, number)
        }
        await change(() => site.rebuild())
        await change(() => site.activate(site.firstDeployment))
        await change(() => site.setVariable('one'))
        const kept = cms.number()
        const number = cms.write()
        await site.purge()
        assert.equal(await site.shown('/live'), number)
        for (const path of cached) assert.equal(await site.shown(path), kept, `${path} is not reached by a purge`)
        const { json } = await service.call(`/v1/${site.environment}`, { as })
        assert.equal(json.freshness.purge, 'EDGE')
        assert.match(json.freshness.advice, /Rebuild if .* the app keeps content itself/)
      })
    }

    test('a restart of the service', async () => {
      cms.write()
      await place.restart()
      for (const { name, cached } of apps) {
        const site = sites[name]
        assert.ok(site)
        site.movedTo(place.service)
        // The edge continues with its cache on disk.
        for (const path of cached) await site.shown(path)
        assert.equal(await site.shown('/live'), cms.number())
      }
    })
  })
}
