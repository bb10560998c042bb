/** A whole cluster, from an upload to visitors at every edge, in two regions. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { NEEDS_REGISTRY } from '../support/images/registry.ts'
import { NEEDS_OWN_NETWORK } from '../support/machine/own-network.ts'
import { NEEDS_SWARM } from '../support/machine/swarm.ts'
import { NEEDS_POSTGRES } from '../support/postgres/server.ts'
import { deploy, nodeServer, page, untilDone } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { startWhole } from '../support/swarm/whole.ts'
import { until } from '../support/until.ts'

const skip = NEEDS_OWN_NETWORK.skip || NEEDS_SWARM.skip || NEEDS_REGISTRY.skip || NEEDS_POSTGRES.skip

suite('a whole cluster', { skip }, async () => {
  const ends: (() => unknown)[] = []
  const scope = { after: (end: () => unknown) => void ends.unshift(end) }
  after(async () => {
    for (const end of ends) await end()
  })
  const cluster = await startWhole(scope)
  const [one, two] = cluster.controls
  const as = await one.login()

  async function createIn(region: string, name: string) {
    const made = await one.call(`/v1/accounts/default/apps?appId=${name}`, {
      method: 'POST',
      as,
      body: { region: `regions/${region}`, uploadable: {} },
    })
    assert.equal(made.status, 200, made.text)
    return createEnvironment(two, as, { app: name })
  }

  /** Of the servers, one in each region. */
  const servers: string[] = []
  for (const region of ['EU-W', 'US-C'])
    test(`a server in ${region} answers through every edge`, async () => {
      const environment = await createIn(region, `server-${region.toLowerCase()}`)
      const done = await deploy(one, as, environment.name, nodeServer(`in ${region}`))
      assert.equal(done.error, undefined)
      servers.push(environment.url)
      for (const edge of cluster.edges) {
        const answer = await until(async () => {
          const found = await siteAnswer(edge, environment.url)
          return found.status === 200 ? found : undefined
        }, 'the edge answers')
        assert.match(answer.text, new RegExp(`in ${region}`))
      }
    })

  test('what awake apps use is measured on their nodes, and every control process knows it', async () => {
    for (const control of [one, two])
      await until(async () => {
        // They stay awake.
        for (const url of servers) await siteAnswer(cluster.edges[0], url)
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
    const environment = await createIn('EU-W', 'sleeper')
    const { error, metadata } = await deploy(one, as, environment.name, nodeServer('awake'))
    assert.equal(error, undefined)
    const state = async () => (await two.call(`/v1/${metadata.deployment}`, { as })).json.instance?.state
    await until(async () => (await state()) === 'ASLEEP', 'it sleeps')
    for (const edge of cluster.edges) assert.equal((await siteAnswer(edge, environment.url)).text, 'awake')
  })

  test('what is purged at one control process is fresh at every edge when it is answered', async () => {
    const environment = await createIn('US-C', 'counter')
    const counting = nodeServer(
      '',
      "response.setHeader('cache-control', 's-maxage=3600'); return response.end(String(process.hrtime.bigint()))",
    )
    assert.equal((await deploy(one, as, environment.name, counting)).error, undefined)
    const pages = () => Promise.all(cluster.edges.map(async (edge) => (await siteAnswer(edge, environment.url)).text))
    await pages()
    const before = await pages()
    assert.deepEqual(await pages(), before)
    for (const control of [one, two]) {
      const purged = await control.call(`/v1/${environment.name}:clearCache`, { method: 'POST', as, body: {} })
      assert.equal(purged.status, 200, purged.text)
      for (const [at, text] of (await pages()).entries()) assert.notEqual(text, before[at])
    }
  })

  test('what an app writes is in its log, at every control process', async () => {
    const environment = await createIn('US-C', 'writer')
    const writing = nodeServer('', "console.log('visited by', request.url); return response.end('written')")
    assert.equal((await deploy(two, as, environment.name, writing)).error, undefined)
    for (const edge of cluster.edges) assert.equal((await siteAnswer(edge, environment.url, '/a-page')).text, 'written')
    for (const control of [one, two])
      await until(async () => {
        const { text } = await control.call(`/v1/${environment.name}/logs`, { as })
        return /visited by \/a-page/.test(text)
      }, 'the line is in the log')
  })

  test('the status of the cluster shows all machines, and nothing wrong', async () => {
    const status = JSON.parse(await one.operator('cluster', 'status', '--json'))
    assert.equal(status.controls.length, 2)
    assert.equal(status.edges.length, 2)
    assert.deepEqual(status.nodes.map(({ region }: { region: string }) => region).toSorted(), ['EU-W', 'EU-W', 'US-C'])
    assert.deepEqual(status.findings, [])
  })

  test('an operator sees at every control process, also at one that does not lead, on which node an app runs', async () => {
    const environment = await createIn('US-C', 'seen')
    assert.equal((await deploy(one, as, environment.name, nodeServer('seen'))).error, undefined)
    for (const control of [one, two]) {
      const { nodes, controls, workers, findings } = await until(async () => {
        // A visit keeps it awake.
        await siteAnswer(cluster.edges[0], environment.url)
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
