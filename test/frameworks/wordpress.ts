/**
 * From "Publish" in a real WordPress to the page that a visitor gets: a static Next.js site on the real service, rebuilt by
 * the plugin; and a Next.js server. Takes a minute: `npm run test:frameworks`.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { resources } from '../../src/contract/index.ts'
import { nextWordpressSuite } from '../suites/next-wordpress.ts'
import { isLong } from '../support/long.ts'
import { deploy, type Files, filesIn, untilDone, upload } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { answersAsExpected, EXAMPLES, expectedOf } from '../support/service/examples.ts'
import { heldBuild, untilHeld } from '../support/service/held-build.ts'
import { startService } from '../support/service/service.ts'
import { createWebhooks } from '../support/service/webhooks.ts'
import { addAddress, phpText, startWordPress } from '../support/service/wordpress.ts'
import { until } from '../support/until.ts'

const EXAMPLE = 'next-export-wordpress'
const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const isRoot = process.getuid?.() === 0
const skip = isRoot ? false : 'only root can give this machine an address that builds reach'

describe('sites that read WordPress', { skip }, async () => {
  if (!isRoot) return
  const wordpress = await startWordPress(file, { address: await addAddress(file) })
  const allowed = `${wordpress.address}:${wordpress.port}`
  const service = await startService(file, { settings: { HEADLAND_ALLOWED_NETWORKS: allowed } })
  await wordpress.setConstants({ HEADLAND_ALLOW_PRIVATE_ADDRESS: new URL(service.api).host })
  const as = await service.login()

  nextWordpressSuite({ service, as, wordpress })

  describe('a static Next.js site that reads WordPress', () => {
    let site: Awaited<ReturnType<typeof deployed>>

    before(async () => {
      site = await deployed(await filesIn(join(EXAMPLES, EXAMPLE)))
      const { rebuild } = await createWebhooks(service, as, site.name)
      await wordpress.setOptions({ url: rebuild })
    })

    /** An environment of its own with this app, live. */
    async function deployed(files: Files) {
      const shellVariables = [{ key: 'WORDPRESS_URL', value: wordpress.url }]
      const body = { displayName: EXAMPLE, branch: 'uploadable', cmsEnvironment: 'cms', shellVariables }
      const { name, url } = await createEnvironment(service, as, { body })
      const done = await deploy(service, as, name, files)
      const log = await service.call(`/v1/${done.metadata.build}/log`, { as })
      assert.equal(done.error, undefined, `${JSON.stringify(done.error)}\n${log.text}`)
      const build: resources.Build = (await service.call(`/v1/${done.metadata.build}`, { as })).json
      return { name, url, build }
    }

    async function buildsOf(environment: string): Promise<resources.Build[]> {
      return (await service.call(`/v1/${environment}/builds?pageSize=200`, { as })).json.builds
    }

    /** The two lists of the page, as a visitor sees them. */
    async function titles(url: string): Promise<{ plain: string[]; kept: string[] }> {
      const { status, text } = await siteAnswer(service, url)
      assert.equal(status, 200, text.slice(0, 300))
      const listOf = (id: string) => {
        const [, list = assert.fail(`no list ${id}`)] =
          new RegExp(`<section id="${id}">.*?<ul>(.*?)</ul>`, 's').exec(text) ?? []
        return [...list.matchAll(/<li>(.*?)<\/li>/g)].map(([, title = '']) => title)
      }
      return { plain: listOf('plain'), kept: listOf('force-cache') }
    }

    /** Resolves when the plugin has no pending changes. */
    const called = () =>
      until(async () => {
        const { counts, worker } = await wordpress.state()
        return worker === '' && Object.keys(counts).length === 0
      }, 'the plugin has called')

    /** Resolves when no build runs: the site has all changes. */
    const built = (environment: string) =>
      until(async () => {
        const builds = await buildsOf(environment)
        return builds.some(isPending) ? undefined : builds
      }, 'the builds are over')

    test('the example is planned and answers as expected', async () => {
      const expected = await expectedOf(EXAMPLE)
      assert.deepEqual(site.build.plan, expected.plan)
      await answersAsExpected(service, site.url, expected)
    })

    test('publishing a post rebuilds the site, and the post is on the page, also if the app allows cached responses', async () => {
      const before = await buildsOf(site.name)
      await wordpress.publish('Fresh from the press')
      await called()
      const builds = await built(site.name)
      assert.equal(builds.length - before.length, 1)
      const now = await titles(site.url)
      assert.ok(now.plain.includes('Fresh from the press'), now.plain.join())
      assert.ok(now.kept.includes('Fresh from the press'), now.kept.join())

      const [build] = builds
      assert.equal(build?.state, 'SUCCEEDED')
      const kept = Object.fromEntries(build.caches.map(({ cache, state }) => [cache, state]))
      assert.equal(kept.packages, 'HIT', 'nothing was installed')
      assert.equal(kept.compile, 'HIT', "the compiler's cache was used")
    })

    test('the dashboard of WordPress says that the build is live, and Headland shows the caller', async () => {
      const called = await wordpress.lastCall()
      assert.ok(called !== false && called.ok, JSON.stringify(called))
      const { json } = await service.call(`/v1/${called.operation}`, { as })
      assert.equal(json.metadata.build, (await buildsOf(site.name))[0]?.name)
      assert.match(await wordpress.admin('index.php'), new RegExp(called.operation))
      const { build, links, done } = await wordpress.progress()
      const page = `${service.api}/${json.metadata.build.replace('accounts/', '')}`
      assert.deepEqual([build, links.map(({ url }) => url), done], ['live', [site.url, page], true])
      const { triggers } = (await service.call(`/v1/${site.name}/triggers`, { as })).json
      assert.deepEqual([triggers[0].source, triggers[0].operation], ['WEBHOOK', called.operation])
      assert.match(triggers[0].userAgent, /^WordPress\//)
    })

    test('the same app with a build that keeps its data cache, as a plain "keep .next/cache" does, would show the old posts', {
      skip: isLong ? false : 'a test of the test: npm run test:long',
    }, async () => {
      const hoarder = await deployed(await hoarding())
      await wordpress.setOptions({ url: '' })
      await wordpress.publish('Published later')
      const asked = await service.call(`/v1/${hoarder.name}:rebuild`, { method: 'POST', as, body: {} })
      assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
      const stale = await titles(hoarder.url)
      assert.ok(stale.kept.includes('Hello world!'), stale.kept.join())
      assert.ok(!stale.kept.includes('Published later'))
    })

    describe('a bulk edit of ten posts', () => {
      const MARK = 'bulk-edit'
      let environment: string
      let webhook: string
      let ids: number[]
      let earlier: number

      /** Each build runs until it is let go on, so that every call comes before the first one is over. */
      before(async () => {
        environment = (await createEnvironment(service, as)).name
        const first = await upload(service, as, environment, heldBuild(MARK, 'held'))
        await (await untilHeld(MARK)).goOn()
        assert.equal((await untilDone(service, as, first.json.name)).error, undefined)
        webhook = (await createWebhooks(service, as, environment)).rebuild
        // Published before, so that only later changes are counted.
        await wordpress.setOptions({ url: '' })
        ids = []
        for (let count = 0; count < 10; count++) ids.push(await wordpress.publish(`Bulk ${count}`))
      })

      async function assertFewBuilds() {
        for (const _ of (await buildsOf(environment)).filter(isPending)) await (await untilHeld(MARK)).goOn()
        const count = (await built(environment)).length - earlier
        assert.ok(count >= 1 && count <= 2, `${count} builds`)
      }

      test('costs at most two builds', async () => {
        earlier = (await buildsOf(environment)).length
        await wordpress.setOptions({ url: webhook })
        await wordpress.bulkEdit(ids)
        await called()
        await assertFewBuilds()
      })

      test('costs at most two builds with a plugin that calls for each post, and waits, too', async (t) => {
        earlier = (await buildsOf(environment)).length
        await wordpress.setOptions({ url: '' })
        await wordpress.addMustUse(t, 'call-for-each', callForEach(webhook))
        await wordpress.bulkEdit(ids)
        const accepted = (await wordpress.log()).match(/called for each: 200/g) ?? []
        assert.equal(accepted.length, 10, 'ten calls were accepted')
        await assertFewBuilds()
      })
    })
  })
})

const isPending = ({ state }: resources.Build): boolean => state === 'QUEUED' || state === 'RUNNING'

/** As JAMstack Deployments does it, for operators on a private network. */
const callForEach = (url: string): string => `
  add_filter('http_request_host_is_external', '__return_true');
  add_filter('http_allowed_safe_ports', fn($ports) => array_merge($ports, [${new URL(url).port}]));
  add_action('transition_post_status', function ($new, $old) {
    if ($new !== 'publish' && $old !== 'publish') return;
    error_log('called for each: ' . wp_remote_retrieve_response_code(wp_safe_remote_post(${phpText(url)})));
  }, 10, 2);`

/** The example, with a build that copies its fetched data to a cached folder, and restores it in the next build. */
async function hoarding(): Promise<Files> {
  const files = await filesIn(join(EXAMPLES, EXAMPLE))
  const about = JSON.parse(String(files['package.json']))
  const [from, hidden] = ['.next/cache/fetch-cache', '.next/cache/turbopack/hidden']
  const copy = (one: string, other: string) =>
    `node -e "const fs = require('fs'); if (fs.existsSync('${one}')) fs.cpSync('${one}', '${other}', { recursive: true })"`
  about.scripts.build = `${copy(hidden, from)} && next build && ${copy(from, hidden)}`
  return { ...files, 'package.json': JSON.stringify(about) }
}
