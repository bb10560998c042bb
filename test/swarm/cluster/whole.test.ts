/** A whole cluster, from an upload to visitors at every edge, in two regions. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { temporaryFolder } from '../../support/folder.ts'
import { openCheckout, remoteUrl, runGit } from '../../support/git/checkout.ts'
import { deploy, nodeServer, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { removeApps, type Shared, scope, sharedCluster, skip } from '../../support/swarm/shared-cluster.ts'
import { regionsOf } from '../../support/swarm/whole.ts'
import { until } from '../../support/until.ts'

const shared = skip ? ({} as Shared) : await sharedCluster()

suite('a whole cluster', { skip }, () => {
  const { cluster, as } = shared
  const [one, two] = cluster.controls
  after(() => removeApps(shared))

  async function createIn(region: string, name: string) {
    const made = await one.call(`/v1/accounts/default/apps?appId=${name}`, {
      method: 'POST',
      as,
      body: { region: `regions/${region}`, uploadable: {} },
    })
    assert.equal(made.status, 200, made.text)
    return createEnvironment(two, as, { app: name })
  }

  /** By their region. Building one costs more than what most tests ask of it. */
  const servers = new Map<string, { name: string; url: string; deployment: string }>()
  const serverIn = (region: string) => {
    const found = servers.get(region)
    assert.ok(found, `there is a server in ${region}`)
    return found
  }
  const MORE = `
    console.log('visited by', request.url)
    if (request.url === '/stored') {
      response.setHeader('cache-control', 's-maxage=3600')
      return response.end(String(process.hrtime.bigint()))
    }`
  for (const region of ['EU-W', 'US-C'])
    test(`a server in ${region} answers through every edge, from a node of it`, async () => {
      const { name, url } = await createIn(region, `server-${region.toLowerCase()}`)
      const done = await deploy(one, as, name, nodeServer(`in ${region}`, MORE))
      assert.equal(done.error, undefined)
      servers.set(region, { name, url, deployment: String(done.metadata.deployment) })
      assert.deepEqual(await regionsOf(cluster.swarm, serverIn(region).deployment), [region])
      for (const edge of cluster.edges) {
        const answer = await until(async () => {
          const found = await siteAnswer(edge, url)
          return found.status === 200 ? found : undefined
        }, 'the edge answers')
        assert.match(answer.text, new RegExp(`in ${region}`))
      }
    })

  test('what awake apps use is measured on their nodes, and every control process knows it', async () => {
    for (const control of [one, two])
      await until(async () => {
        // They stay awake.
        for (const { url } of servers.values()) await siteAnswer(cluster.edges[0], url)
        const { json } = await control.call('/v1/accounts/default/usage', { as })
        return json.ceilings.find(({ kind }: { kind: string }) => kind === 'APP_MEMORY').used > 1024 ** 2
      }, 'their memory is known')
  })

  test('a static site answers through every edge', async () => {
    const environment = await createIn('EU-W', 'static')
    assert.equal((await deploy(two, as, environment.name, page('for all'))).error, undefined)
    for (const edge of cluster.edges) assert.match((await siteAnswer(edge, environment.url)).text, /for all/)
  })

  test('files of the deployment before are there for pages that are open, at every edge, until a Clean Rebuild', async () => {
    const environment = await createIn('EU-W', 'open-pages')
    const scriptOf = (version: string) => `assets/app-${version.repeat(4)}Aa11.js`
    const site = (version: string) => ({ ...page(version), [scriptOf(version)]: `console.log('${version}')` })
    const statusOf = async (edge: (typeof cluster.edges)[0]) =>
      (await siteAnswer(edge, environment.url, `/${scriptOf('a')}`)).status
    assert.equal((await deploy(one, as, environment.name, site('a'))).error, undefined)
    const [first, second] = cluster.edges
    assert.match((await siteAnswer(first, environment.url)).text, /\ba\b/)
    assert.equal((await deploy(two, as, environment.name, site('b'))).error, undefined)
    // The first has the files of before, so they are there with the switch. The second one has to get them.
    assert.equal(await statusOf(first), 200)
    await until(async () => (await statusOf(second)) === 200, 'the edge that never had the files has them')
    const clean = await one.call(`/v1/${environment.name}:rebuild`, { method: 'POST', as, body: { clean: true } })
    assert.equal((await untilDone(one, as, clean.json.name)).error, undefined)
    for (const edge of cluster.edges) assert.equal(await statusOf(edge), 404)
  })

  test('an app sleeps without visitors, and wakes for one at any edge', async () => {
    const { url, deployment } = serverIn('EU-W')
    const state = async () => (await two.call(`/v1/${deployment}`, { as })).json.instance?.state
    await until(async () => (await state()) === 'ASLEEP', 'it sleeps')
    for (const edge of cluster.edges) assert.equal((await siteAnswer(edge, url)).text, 'in EU-W')
  })

  test('what is purged at one control process is fresh at every edge when it is answered', async () => {
    const { name, url } = serverIn('US-C')
    const pages = () => Promise.all(cluster.edges.map(async (edge) => (await siteAnswer(edge, url, '/stored')).text))
    await pages()
    const before = await pages()
    assert.deepEqual(await pages(), before)
    for (const control of [one, two]) {
      const purged = await control.call(`/v1/${name}:clearCache`, { method: 'POST', as, body: {} })
      assert.equal(purged.status, 200, purged.text)
      for (const [at, text] of (await pages()).entries()) assert.notEqual(text, before[at])
    }
  })

  test('what an app writes is in its log, at every control process', async () => {
    const { name, url } = serverIn('US-C')
    for (const edge of cluster.edges) assert.equal((await siteAnswer(edge, url, '/a-page')).text, 'in US-C')
    for (const control of [one, two])
      await until(async () => {
        const { text } = await control.call(`/v1/${name}/logs`, { as })
        return /visited by \/a-page/.test(text)
      }, 'the line is in the log')
  })

  test('a push to one control process is built and live at every edge, with its log, and a clone from the other has it', async () => {
    const environment = await createIn('EU-W', 'pushed')
    const named = await one.call(`/v1/${environment.name}?updateMask=branch`, {
      method: 'PATCH',
      as,
      body: { branch: 'main' },
    })
    assert.equal(named.status, 200, named.text)
    const folder = await temporaryFolder(scope)
    const work = await openCheckout(join(folder, 'work'), remoteUrl(one, as, 'default/pushed'))
    await work.commit(nodeServer('pushed'), 'A server')
    const pushed = await work.try('push', 'origin', 'main')
    assert.equal(pushed.code, 0, pushed.text)
    assert.match(pushed.text, /remote: Building for .*: http.*\/builds\/[\s\S]*remote: Live: http/)
    for (const edge of cluster.edges)
      await until(async () => (await siteAnswer(edge, environment.url)).text === 'pushed', 'the edge answers')
    const cloned = await runGit(folder, ['clone', '-q', remoteUrl(two, as, 'default/pushed'), 'clone'])
    assert.equal(cloned.code, 0, cloned.text)
    assert.equal(
      await runGit(join(folder, 'clone'), ['rev-parse', 'HEAD']).then(({ stdout }) => stdout),
      await work.git('rev-parse', 'HEAD'),
    )
  })

  test('the status of the cluster shows all machines, and nothing wrong', async () => {
    const status = JSON.parse(await one.operator('cluster', 'status', '--json'))
    assert.equal(status.controls.length, 2)
    assert.equal(status.edges.length, 2)
    assert.deepEqual(status.nodes.map(({ region }: { region: string }) => region).toSorted(), ['EU-W', 'EU-W', 'US-C'])
    assert.deepEqual(status.findings, [])
  })

  test('an operator sees at every control process, also at one that does not lead, on which node an app runs', async () => {
    const { url } = serverIn('US-C')
    for (const control of [one, two]) {
      const { nodes, controls, workers, findings } = await until(async () => {
        // A visit keeps it awake.
        await siteAnswer(cluster.edges[0], url)
        const { json } = await control.call('/v1/cluster', { as })
        const found = json.nodes?.find(({ region }: { region: string }) => region === 'US-C')
        return found?.instances > 0 && json
      }, 'an instance is on the node')
      const node = nodes.find(({ region }: { region: string }) => region === 'US-C')
      assert.equal(node.state, 'ready')
      assert.equal(node.confirmed, true)
      assert.ok(node.promisedBytes > 0 && node.memoryBytes > 0)
      assert.deepEqual(controls.map(({ leading }: { leading: boolean }) => leading).toSorted(), [false, true])
      assert.equal(workers.length, 1)
      assert.deepEqual(findings, [])
    }
  })

  test('an app in a region without a node is refused when it is made', async () => {
    const { reason } = await two.call('/v1/accounts/default/apps?appId=nowhere', {
      method: 'POST',
      as,
      body: { region: 'regions/UK', uploadable: {} },
    })
    assert.equal(reason, 'REGION_UNAVAILABLE')
  })
})
