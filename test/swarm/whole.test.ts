/** A whole cluster, from an upload to visitors at every edge, in two regions. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { NEEDS_REGISTRY } from '../support/images/registry.ts'
import { NEEDS_OWN_NETWORK } from '../support/machine/own-network.ts'
import { NEEDS_SWARM } from '../support/machine/swarm.ts'
import { NEEDS_POSTGRES } from '../support/postgres/server.ts'
import { deploy, nodeServer, page } from '../support/service/deploy.ts'
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

  for (const region of ['EU-W', 'US-C'])
    test(`a server in ${region} answers through every edge`, async () => {
      const environment = await createIn(region, `server-${region.toLowerCase()}`)
      const done = await deploy(one, as, environment.name, nodeServer(`in ${region}`))
      assert.equal(done.error, undefined)
      for (const edge of cluster.edges) {
        const answer = await until(async () => {
          const found = await siteAnswer(edge, environment.url)
          return found.status === 200 ? found : undefined
        }, 'the edge answers')
        assert.match(answer.text, new RegExp(`in ${region}`))
      }
    })

  test('a static site answers through every edge', async () => {
    const environment = await createIn('EU-W', 'static')
    assert.equal((await deploy(two, as, environment.name, page('for all'))).error, undefined)
    for (const edge of cluster.edges) assert.match((await siteAnswer(edge, environment.url)).text, /for all/)
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
