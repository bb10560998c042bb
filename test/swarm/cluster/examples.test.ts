/**
 * Apps made with frameworks in a whole cluster. The own cache of Next.js is as fresh on every machine as on one; with
 * `TEST_LONG=yes`, others are deployed into two regions and answer through every edge, which servers without a framework
 * show too.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isLong, rounds } from '../../support/long.ts'
import { visitFrom } from '../../support/machine/swarm.ts'
import { NEEDS_WAY_OUT } from '../../support/machine/way-out.ts'
import { deploy, type Files, filesIn } from '../../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { answersAsExpected, EXAMPLES, expectedOf } from '../../support/service/examples.ts'
import type { TestService } from '../../support/service/service.ts'
import { createWebhooks, hook } from '../../support/service/webhooks.ts'
import { removeApps, type Shared, sharedCluster, skip as skipCluster } from '../../support/swarm/shared-cluster.ts'
import { regionsOf } from '../../support/swarm/whole.ts'
import { until } from '../../support/until.ts'

const skip = skipCluster || NEEDS_WAY_OUT.skip

const FRAMEWORKS = [
  'sveltekit',
  'astro',
  'next-isr',
  'next-standalone',
  'nuxt',
  'astro-node',
  'express',
  'react-router',
]
const FIXTURES = fileURLToPath(new URL('../../fixtures', import.meta.url))
/** Pages of Next.js that are kept, of every kind. */
const KEPT = ['/posts/one', '/posts/two', '/forever', '/legacy', '/feed']

const shared = skip ? ({} as Shared) : await sharedCluster()
const packageFile = (name: string) => readFile(join(EXAMPLES, 'next-isr', name))
const files = {
  ...(await filesIn(join(FIXTURES, 'next-cms'))),
  ...(await filesIn(join(FIXTURES, 'next-inside'))),
  'package.json': await packageFile('package.json'),
  'package-lock.json': await packageFile('package-lock.json'),
}

suite('apps made with frameworks in a cluster', { skip }, () => {
  const { as, cms } = shared
  const { controls, edges, swarm } = shared.cluster
  const [one, two] = controls
  after(() => removeApps(shared))

  async function deployIn(region: string, app: string, files: Files, more: object = {}) {
    await createApp(one, as, { app, region })
    const body = { displayName: app, branch: 'uploadable', cmsEnvironment: 'cms', ...more }
    const environment = await createEnvironment(two, as, { app, body })
    const { error, metadata } = await deploy(one, as, environment.name, files)
    const log = error ? await one.call(`/v1/${metadata.build}/log`, { as }) : undefined
    assert.equal(error, undefined, `${JSON.stringify(error)}\n${log?.text}`)
    return { ...environment, deployment: String(metadata.deployment) }
  }

  test('builds have a way to the registry of packages, and the nodes of apps have none', async () => {
    const { stdout } = await promisify(execFile)('npm', ['config', 'get', 'registry'])
    const registry = stdout.trim()
    assert.notEqual(await visitFrom([], registry), undefined)
    const fromNodes = await Promise.all(swarm.nodes.map(({ inside }) => visitFrom(inside, registry)))
    assert.deepEqual(fromNodes, [undefined, undefined, undefined])
  })

  for (const name of FRAMEWORKS)
    test(`examples/${name} answers through every edge, from each region`, {
      skip: isLong ? false : 'takes minutes: npm run test:long',
    }, async () => {
      const expected = await expectedOf(name)
      const files = await filesIn(join(EXAMPLES, name))
      for (const region of ['EU-W', 'US-C']) {
        const { url, deployment } = await deployIn(region, `${name}-${region.toLowerCase()}`, files)
        for (const edge of edges) await answersAsExpected(edge, url, expected)
        const isServer = (expected.plan as { output: { kind: string } }).output.kind === 'server'
        if (isServer) assert.deepEqual(await regionsOf(swarm, deployment), [region])
      }
    })

  const shellVariables = [
    { key: 'CMS_URL', value: cms.url },
    { key: 'GREETING', value: 'good morning' },
  ]
  let app: Awaited<ReturnType<typeof deployIn>>

  const ask = (edge: TestService, path: string) => siteAnswer(edge, app.url, path)
  const numberIn = (text: string) => Number(/text-(\d+)-/.exec(text)?.[1])

  async function post(edge: TestService, path: string) {
    const { hostname, port } = new URL(edge.edge)
    const headers = { host: new URL(app.url).host }
    const { status, text } = await new Promise<{ status?: number; text: string }>((resolve, reject) => {
      request({ host: hostname, port, path, method: 'POST', headers, agent: false }, async (answer) => {
        let text = ''
        for await (const chunk of answer.setEncoding('utf8')) text += chunk
        resolve({ status: answer.statusCode ?? 0, text })
      })
        .on('error', reject)
        .end()
    })
    assert.equal(status, 200, text)
    return JSON.parse(text)
  }

  /** The number that a page shows, through each edge. */
  async function shown(path: string): Promise<number[]> {
    const answers = await Promise.all(edges.map((edge) => ask(edge, path)))
    return answers.map(({ status, text }) => {
      assert.equal(status, 200, `${path}: ${text.slice(0, 300)}`)
      return numberIn(text)
    })
  }

  /** The number that a page shows on each instance, asked past the caches of the edges. */
  const shownByInstances = async (path: string, count: number): Promise<number[]> =>
    (await instancesShowing(path, count)).map(([, number]) => number)

  /** With their names. */
  async function instancesShowing(path: string, count: number): Promise<[string, number][]> {
    const found = new Map<string, number>()
    await until(async () => {
      for (const edge of edges) {
        const answer = await ask(edge, `/api/page?path=${path}`)
        // The edge may not know yet that an instance has ended.
        if (answer.status !== 200) continue
        const { instance, text } = JSON.parse(answer.text)
        if (!found.has(instance)) found.set(instance, numberIn(text))
      }
      return found.size === count
    }, `${count} instances have answered`)
    return [...found]
  }

  async function allShow(number: number, paths = KEPT) {
    for (const path of paths) {
      assert.deepEqual(await shown(path), [number, number], `${path} through the edges`)
      assert.deepEqual(await shownByInstances(path, 2), [number, number], `${path} on the instances`)
    }
  }

  test('a Next.js app with a cache of its own answers through every edge, from both nodes of its region', async () => {
    app = await deployIn('EU-W', 'next', files, { shellVariables, minInstances: 2, maxInstances: 2 })
    await allShow(1)
    assert.deepEqual(await regionsOf(swarm, app.deployment), ['EU-W', 'EU-W'])
  })

  test('a page that was made anew by time does not get older with a new instance', async () => {
    const number = cms.write()
    await until(async () => (await shownByInstances('/timed', 2)).every((shown) => shown === number), 'both show it')
    const [[killed]] = (await instancesShowing('/timed', 2)) as [[string, number]]
    const starts = async () => (await one.call(`/v1/${app.name}/logs`, { as })).text.split('Ready in').length
    const before = await starts()
    await Promise.any(swarm.nodes.map((node) => node.docker('kill', killed)))
    // Without visits, so that the page is not made anew after the start.
    await until(async () => (await starts()) > before, 'another instance has started')
    const found = new Map(await instancesShowing('/timed', 2))
    assert.equal(found.has(killed), false)
    assert.deepEqual([...found.values()], [number, number])
  })

  async function clearCache(control: TestService, body: object) {
    const { status, text } = await control.call(`/v1/${app.name}:clearCache`, { method: 'POST', as, body })
    assert.equal(status, 200, text)
  }
  let webhook: string | undefined
  const PURGES = {
    'a purge of everything': (control) => clearCache(control, {}),
    'a purge of paths': (control) => clearCache(control, { paths: KEPT }),
    'a purge of tags and a path': (control) =>
      clearCache(control, { tags: ['posts', 'forever', 'feed'], paths: ['/legacy'] }),
    'a webhook': async (control) => {
      webhook ??= (await createWebhooks(control, as, app.name)).purgeCache
      const { status, text } = await hook(control, webhook)
      assert.equal(status, 200, text)
    },
    'a revalidation by the app, on one instance,': (_control, edge) =>
      post(edge, '/api/revalidate?tag=posts&tag=feed&path=/forever&path=/legacy'),
  } satisfies Record<string, (control: TestService, edge: TestService) => Promise<unknown>>

  for (const [name, purge] of Object.entries(PURGES))
    test(`${name} means new pages through every edge and on every instance`, async () => {
      await clearCache(one, {})
      await allShow(cms.number())
      for (let round = 0; round < rounds({ short: 2, long: 20 }); round++) {
        const old = cms.number()
        const number = cms.write()
        await allShow(old)
        await purge(controls[round % 2] ?? one, edges[round % 2] ?? edges[0])
        await allShow(number)
      }
    })

  test('pages that are being read do not get old again after a purge', async (t) => {
    let acknowledged = cms.number()
    await clearCache(one, {})
    const stopping = new AbortController()
    t.after(() => stopping.abort())
    const old: string[] = []
    const read = async (edge: TestService, path: string) => {
      while (!stopping.signal.aborted) {
        const least = acknowledged
        const { status, text } = await ask(edge, path)
        if (status !== 200 || numberIn(text) < least) old.push(`${path}: ${status}, ${numberIn(text)} after ${least}`)
      }
    }
    const paths = ['/posts/one', '/feed', '/api/page?path=/posts/two', '/api/page?path=/legacy']
    const reading = edges.flatMap((edge) => paths.map((path) => read(edge, path)))
    for (let round = 0; round < rounds({ short: 5, long: 100 }) && old.length === 0; round++) {
      const number = cms.write()
      await clearCache(controls[round % 2] ?? one, {})
      acknowledged = number
      await allShow(number, ['/posts/one'])
    }
    stopping.abort()
    await Promise.all(reading)
    assert.deepEqual(old, [])
  })

  test('what an app purges by the API for apps is new through every edge', async () => {
    const stamps = () => Promise.all(edges.map(async (edge) => (await ask(edge, '/api/stamp')).text))
    await stamps()
    const before = await stamps()
    assert.deepEqual(await stamps(), before)
    assert.deepEqual(await post(edges[1], '/api/purge?tag=stamp'), { status: 200 })
    for (const [at, text] of (await stamps()).entries()) assert.notEqual(text, before[at])
  })

  test('a Next.js app uses variables and keeps values, and what it writes is in the log', async () => {
    assert.deepEqual(await post(edges[0], '/api/values?key=one&value=kept'), { status: 204 })
    for (const edge of edges)
      assert.deepEqual(JSON.parse((await ask(edge, '/api/values?key=one')).text), {
        ...{ status: 200, value: 'kept', greeting: 'good morning' },
      })
    for (const control of controls)
      await until(
        async () => (await control.call(`/v1/${app.name}/logs`, { as })).text.includes('keeps kept'),
        'the line is in the log',
      )
  })
})
