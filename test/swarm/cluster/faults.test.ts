/**
 * What visitors notice of deployments and losses in a whole cluster, and what is left afterwards. The figures of each are printed;
 * what is asserted does not depend on how fast the machine is.
 */
import assert from 'node:assert/strict'
import { before, suite, type TestContext, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { rounds } from '../../support/long.ts'
import { deploy, nodeServer, page, untilDone, upload } from '../../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { heldBuild, untilHeld } from '../../support/service/held-build.ts'
import type { Login, TestService } from '../../support/service/service.ts'
import { scope, sharedCluster, skip } from '../../support/swarm/shared-cluster.ts'
import { startVisitors, type Way } from '../../support/swarm/visitors.ts'
import type { Whole } from '../../support/swarm/whole.ts'
import { until } from '../../support/until.ts'

type Environment = Pick<resources.Environment, 'name' | 'url'>

suite('visitors of a cluster', { skip }, () => {
  let cluster: Whole
  let as: Login
  let server: Environment
  let site: Environment
  let ways: Way[]
  let visitors: ReturnType<typeof startVisitors>
  const controls = new Set<TestService>()
  const anyControl = () => [...controls][0] as TestService
  const createIn = async (region: string, app: string) =>
    createEnvironment(anyControl(), as, { app: await createApp(anyControl(), as, { app, region }) })
  const deployServer = async (version: string) =>
    assert.equal((await deploy(anyControl(), as, server.name, nodeServer(version))).error, undefined)

  before(async () => {
    const shared = await sharedCluster()
    cluster = shared.cluster
    as = shared.as
    for (const control of cluster.controls) controls.add(control)
    server = await createIn('EU-W', 'server')
    site = await createIn('US-C', 'site')
    await deployServer('v0')
    assert.equal((await deploy(anyControl(), as, site.name, page('v0'))).error, undefined)
    ways = cluster.edges.flatMap((edge, at) =>
      Object.entries({ server: server.url, site: site.url }).map(([name, url]) => ({
        ...{ edge, edgeName: `edge-${at + 1}`, site: name, url },
      })),
    )
    for (const { edge, url } of ways)
      await until(async () => (await siteAnswer(edge, url)).status === 200, 'it answers')
    visitors = startVisitors(scope, ways)
  })

  /** Runs it under visits, and prints the figures. */
  async function figures(t: TestContext, work: () => Promise<unknown>) {
    const found = await visitors.during(work)
    t.diagnostic(JSON.stringify(found))
    return found
  }

  const isLeading = async (service: TestService) =>
    /^headland_leader 1$/m.test((await service.call('/metrics').catch(() => ({ text: '' }))).text)
  const leader = () =>
    until(async () => {
      for (const service of controls) if (await isLeading(service)) return service
      return undefined
    }, 'one leads')

  test('deployments are not noticed', async (t) => {
    const { failed, examples } = await figures(t, async () => {
      for (let number = 1; number <= rounds({ short: 2, long: 20 }); number++) {
        await deployServer(`v${number}`)
        assert.equal((await deploy(anyControl(), as, site.name, page(`v${number}`))).error, undefined)
        for (const { edge, url } of ways) assert.match((await siteAnswer(edge, url)).text, new RegExp(`v${number}`))
      }
    })
    assert.equal(failed, 0, examples.join('\n'))
  })

  test('an upgrade, one machine after the other, is not noticed', async (t) => {
    const { failed, examples } = await figures(t, async () => {
      for (const service of [...controls, cluster.worker, ...cluster.edges]) await service.operator('reload')
      await deployServer('upgraded')
    })
    assert.equal(failed, 0, examples.join('\n'))
  })

  test('the death of the leader is not noticed, and the other one goes on with deployments', async (t) => {
    const { failed, examples } = await figures(t, async () => {
      const killed = await leader()
      controls.delete(killed)
      await killed.kill()
      await leader()
      await deployServer('after the leader')
      controls.add(await cluster.startControl(cluster.controls.indexOf(killed), killed.dataDir))
    })
    assert.equal(failed, 0, examples.join('\n'))
  })

  test('the death of a worker in the middle of a build is not noticed, and another one builds', async (t) => {
    let lost = cluster.worker
    const { failed, examples } = await figures(t, async () => {
      const asked = await upload(anyControl(), as, site.name, heldBuild('swarm-worker', 'after the worker'))
      await untilHeld('swarm-worker')
      await lost.kill()
      lost = await cluster.startWorker()
      await (await untilHeld('swarm-worker')).goOn()
      assert.equal((await untilDone(anyControl(), as, asked.json.name)).error, undefined)
    })
    assert.equal(failed, 0, examples.join('\n'))
  })

  test('a registry that is away is not noticed', async (t) => {
    const { failed, examples } = await figures(t, async () => {
      await cluster.shared.registry.stop()
      for (const { edge, url } of ways) assert.equal((await siteAnswer(edge, url)).status, 200)
      await cluster.shared.registry.start()
      await deployServer('after the registry')
    })
    assert.equal(failed, 0, examples.join('\n'))
  })

  test('a restart of PostgreSQL is not noticed', async (t) => {
    const { failed, examples } = await figures(t, async () => {
      await cluster.shared.server.stop()
      for (const { edge, url } of ways) assert.equal((await siteAnswer(edge, url)).status, 200)
      await cluster.shared.server.start()
      await until(
        () =>
          anyControl()
            .call('/readyz')
            .then(
              ({ status }) => status === 200,
              () => false,
            ),
        'it is back',
      )
      await leader()
      await deployServer('after the database')
    })
    assert.equal(failed, 0, examples.join('\n'))
  })

  test('of the death of an edge, visitors of the other edge notice nothing', async (t) => {
    const [first] = cluster.edges
    const { byEdge, examples } = await figures(t, async () => {
      process.kill(first.edgePid(), 'SIGKILL')
      await until(
        async () => (await siteAnswer(first, server.url).catch(() => undefined))?.status === 200,
        'it is back',
      )
    })
    assert.equal(byEdge['edge-2'] ?? 0, 0, examples.join('\n'))
  })

  const manager = () => cluster.swarm.nodes[0]
  const second = () => cluster.swarm.nodes[1]
  const setAvailability = (availability: 'active' | 'drain') =>
    cluster.swarm.docker.changeNode(manager().id, (spec) => ({ ...spec, Availability: availability }))
  /** Nodes on which tasks of services run. */
  const busyNodes = async () => {
    const tasks = await cluster.swarm.docker.tasks({ 'desired-state': ['running'] })
    return new Set(tasks.flatMap(({ NodeID, Status }) => (Status.State === 'running' ? (NodeID ?? []) : [])))
  }
  const answersEverywhere = async () => {
    const answers = await Promise.all(cluster.edges.map((edge) => siteAnswer(edge, server.url).catch(() => undefined)))
    return answers.every((answer) => answer?.status === 200)
  }

  test('apps leave a node that is drained', async (t) => {
    await figures(t, async () => {
      await setAvailability('drain')
      await until(async () => [...(await busyNodes())].join() === second().id, 'the app is on the other node')
      await until(answersEverywhere, 'it answers from there')
    })
    await setAvailability('active')
  })

  test('an app on a node that is cut off answers again from another node', async (t) => {
    await figures(t, async () => {
      await second().unplug()
      await until(async () => (await busyNodes()).has(manager().id), 'it runs on the other node')
      await until(answersEverywhere, 'it answers from there')
    })
    await second().plugIn()
  })

  test('nothing is left over', async () => {
    await deployServer('last')
    await visitors.stop()
    const { docker } = cluster.swarm
    await until(async () => (await docker.services({})).length === 1, 'one service is left')
    await until(async () => (await docker.secrets({})).length === 1, 'one secret is left')
    const { json } = await anyControl().call('/v1/accounts/default/operations?filter=done=false', { as })
    assert.deepEqual(json.operations ?? [], [])
  })
})
