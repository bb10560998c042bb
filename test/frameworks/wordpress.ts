/**
 * From "Publish" in a real WordPress to the page that a visitor gets: a static Next.js site on the real service, rebuilt by
 * the plugin. Takes a minute or two: `npm run test:frameworks`.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { resources } from '../../src/contract/index.ts'
import { deploy, type Files, filesIn, untilDone } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { answersAsExpected, EXAMPLES, expectedOf } from '../support/service/examples.ts'
import { type Login, startService, type TestService } from '../support/service/service.ts'
import { addAddress, phpText, startWordPress, type WordPress } from '../support/service/wordpress.ts'
import { until } from '../support/until.ts'

const EXAMPLE = 'next-export-wordpress'
const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const skip = process.getuid?.() === 0 ? false : 'only root can give this machine an address that builds reach'

describe('a static Next.js site that reads WordPress', { skip }, () => {
  let wordpress: WordPress
  let service: TestService
  let as: Login
  let site: Awaited<ReturnType<typeof deployed>>
  let webhook: string

  before(async () => {
    wordpress = await startWordPress(file, { address: await addAddress(file) })
    const allowed = `${wordpress.address}:${wordpress.port}`
    service = await startService(file, { settings: { HEADLAND_ALLOWED_NETWORKS: allowed } })
    await wordpress.setConstants({ HEADLAND_ALLOW_PRIVATE_ADDRESS: new URL(service.api).host })
    as = await service.login()
    site = await deployed(await filesIn(join(EXAMPLES, EXAMPLE)))
    const made = await service.call(`/v1/${site.name}/webhooks`, { method: 'POST', as })
    assert.equal(made.status, 200, made.text)
    webhook = made.json.webhooks.find(({ action }: { action: string }) => action === 'rebuild').url
    await wordpress.setOptions({ url: webhook })
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

  /** Resolves when the plugin has no pending changes and no build runs: the site has all changes. */
  async function settled(): Promise<resources.Build[]> {
    await until(async () => {
      const { counts, worker } = await wordpress.state()
      return worker === '' && Object.keys(counts).length === 0
    }, 'the plugin has called')
    return until(async () => {
      const builds = await buildsOf(site.name)
      return builds.every(({ state }) => state !== 'QUEUED' && state !== 'RUNNING') ? builds : undefined
    }, 'the builds are over')
  }

  test('the example is planned and answers as expected', async () => {
    const expected = await expectedOf(EXAMPLE)
    assert.deepEqual(site.build.plan, expected.plan)
    await answersAsExpected(service, site.url, expected)
  })

  test('publishing a post rebuilds the site, and the post is on the page, also if the app allows cached responses', async () => {
    // The same app with a build that keeps the data cache, as a plain "keep .next/cache" does.
    const hoarder = await deployed(await hoarding())
    const before = await buildsOf(site.name)

    await wordpress.publish('Fresh from the press')
    const builds = await settled()
    assert.equal(builds.length - before.length, 1)
    const now = await titles(site.url)
    assert.ok(now.plain.includes('Fresh from the press'), now.plain.join())
    assert.ok(now.kept.includes('Fresh from the press'), now.kept.join())

    const [build] = builds
    assert.equal(build?.state, 'SUCCEEDED')
    const kept = Object.fromEntries(build.caches.map(({ cache, state }) => [cache, state]))
    assert.equal(kept.packages, 'HIT', 'nothing was installed')
    assert.equal(kept.compile, 'HIT', "the compiler's cache was used")

    const asked = await service.call(`/v1/${hoarder.name}:rebuild`, { method: 'POST', as, body: {} })
    assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
    const stale = await titles(hoarder.url)
    assert.ok(stale.kept.includes('Hello world!'), stale.kept.join())
    assert.ok(!stale.kept.includes('Fresh from the press'), 'a rebuild with the data cache would show the old posts')
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

  test('a bulk edit of ten posts costs at most two builds', async () => {
    const { ids, before } = await tenPosts()
    await wordpress.bulkEdit(ids)
    const count = (await settled()).length - before.length
    assert.ok(count >= 1 && count <= 2, `${count} builds`)
  })

  test('a plugin that calls for each post, and waits, costs at most two builds, too', async (t) => {
    const { ids, before } = await tenPosts()
    await wordpress.setOptions({ url: '' })
    await wordpress.addMustUse(t, 'call-for-each', callForEach(webhook))
    await wordpress.bulkEdit(ids)
    const called = (await wordpress.log()).match(/called for each: 200/g) ?? []
    assert.equal(called.length, 10, 'ten calls were accepted')
    const count = (await settled()).length - before.length
    assert.ok(count >= 1 && count <= 2, `${count} builds`)
  })

  /** Published before, so that only later changes are counted. */
  async function tenPosts() {
    const ids: number[] = []
    await wordpress.setOptions({ url: '' })
    for (let count = 0; count < 10; count++) ids.push(await wordpress.publish(`Bulk ${count}`))
    await wordpress.setOptions({ url: webhook })
    return { ids, before: await settled() }
  }
})

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
