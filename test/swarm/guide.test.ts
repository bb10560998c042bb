/** The page about clusters, followed from bare machines to visitors, and what they notice of what it says about changes and losses. */
import assert from 'node:assert/strict'
import { after, suite, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { remoteUrl, runGit } from '../support/git/checkout.ts'
import { LOGIN, NEEDS_REGISTRY, startRegistry } from '../support/images/registry.ts'
import { isLong } from '../support/long.ts'
import { inReverse } from '../support/machine/docker-engine.ts'
import { NEEDS_OWN_NETWORK } from '../support/machine/own-network.ts'
import { NEEDS_SWARM, startNetwork } from '../support/machine/swarm.ts'
import { BUCKET, KEYS, startS3Server } from '../support/object-store/s3-server.ts'
import { startPair } from '../support/postgres/pair.ts'
import { NEEDS_POSTGRES } from '../support/postgres/server.ts'
import { deploy, nodeServer, page, untilDone, upload } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { type Api, callAt } from '../support/service/service.ts'
import { openGuide } from '../support/swarm/guide.ts'
import { type GuideMachine, guideMachine } from '../support/swarm/guide-machine.ts'
import { startVisitors } from '../support/swarm/visitors.ts'
import { until } from '../support/until.ts'

const skip = NEEDS_OWN_NETWORK.skip || NEEDS_SWARM.skip || NEEDS_REGISTRY.skip || NEEDS_POSTGRES.skip
/** The network of the page; what the operator runs is at its first address. */
const NETWORK = '10.0.0'
const OPERATOR = `${NETWORK}.1`
/** Stored pages are used for 45 seconds without the database. */
const LONG_OUTAGE_MS = 75_000

suite('a cluster as the page makes it', { skip }, async () => {
  const t = inReverse({ after })
  const { addMachine } = await startNetwork(t, { network: NETWORK, isHere: true })
  const pair = await startPair(t, { host: OPERATOR })
  const store = await startS3Server(t, { host: OPERATOR })
  const registry = await startRegistry(t, { host: OPERATOR, hasPassword: true })
  const machines = new Map<string, Promise<GuideMachine>>()
  const machineOf = (name: string): Promise<GuideMachine> => {
    const made = machines.get(name) ?? addMachine(Number(name.slice(-1)), name).then((one) => guideMachine(t, one))
    machines.set(name, made)
    return made
  }
  const databaseUrl = `${pair.withBoth(await pair.primary.createDatabase())}?sslmode=disable`
  const guide = await openGuide({
    machineOf,
    own: {
      databaseUrl,
      objectStore: `s3://${BUCKET}/cluster`,
      objectStoreEndpoint: store.endpoint,
      objectStoreRegion: store.region,
      objectStoreKeyId: KEYS.keyId,
      objectStoreSecret: KEYS.secret,
      registry: registry.url,
      registryUser: LOGIN.user,
      registryPassword: LOGIN.password,
    },
    more: { registryPlainHttp: 'true', logLevel: 'warn' },
  })
  await Promise.all(guide.layout.map(({ name }) => machineOf(name)))
  for (const step of guide.steps) await guide.follow(step)

  const [first, second] = [await machineOf('paris-1'), await machineOf('paris-2')]
  const operator = async (command: string) =>
    (await first.run(['cd /etc/headland/control', `headland ${command}`]))[1] ?? ''
  const apis = [first, second].map(({ address }): Api => ({ call: callAt(`http://${address}:8080`, 'guide') }))
  const [one, two] = apis as [Api, Api]
  const edges = [first, second].map(({ address }) => ({ edge: `http://${address}:80` }))
  const as = JSON.parse(await operator('credentials create --account default --role owner --json'))
  const create = async (app: string) => {
    const body = { region: 'regions/EU-W', uploadable: {} }
    const made = await one.call(`/v1/accounts/default/apps?appId=${app}`, { method: 'POST', as, body })
    assert.equal(made.status, 200, made.text)
    return createEnvironment(two, as, { app })
  }
  const server = await create('server')
  const site = await create('site')
  const deployServer = async (version: string, api = one) =>
    assert.equal((await deploy(api, as, server.name, nodeServer(version))).error, undefined)
  await deployServer('v0')
  assert.equal((await deploy(two, as, site.name, page('v0'))).error, undefined)
  const waysTo = (sites: Record<string, string>) =>
    edges.flatMap((edge, at) =>
      Object.entries(sites).map(([name, url]) => ({ edge, edgeName: `edge-${at + 1}`, site: name, url })),
    )
  const ways = waysTo({ server: server.url, site: site.url })
  for (const { edge, url } of ways) await until(async () => (await siteAnswer(edge, url)).status === 200, 'it answers')
  const visitors = startVisitors(t, ways)

  async function unnoticed(context: TestContext, work: () => Promise<unknown>) {
    const found = await visitors.during(work)
    context.diagnostic(JSON.stringify(found))
    assert.equal(found.failed, 0, found.examples.join('\n'))
  }

  test('its status shows all machines of the page, and nothing wrong', async () => {
    const status = JSON.parse(await operator('cluster status --json'))
    assert.deepEqual([status.controls.length, status.edges.length, status.nodes.length], [2, 2, 3])
    assert.deepEqual(status.findings, [])
  })

  test('git reaches a worker through each control machine', async () => {
    for (const { address } of [first, second]) {
      const listed = await runGit('/', [
        'ls-remote',
        remoteUrl({ api: `http://${address}:8080` }, as, 'default/server'),
      ])
      assert.equal(listed.code, 0, listed.text)
    }
  })

  test('an upgrade, one role after the other, is not noticed', async (context) => {
    await unnoticed(context, async () => {
      await guide.follow('Upgrade')
      await deployServer('upgraded')
    })
  })

  const isReady = async (api: Api) => (await api.call('/readyz').catch(() => undefined))?.status === 200
  /** By whichever server answers. `cluster status` shows it too, but is a process of the service each time. */
  const termOf = async (): Promise<number> =>
    Number(await pair.replica.psql(`SELECT term FROM leadership WHERE name = 'control'`, databaseUrl))
  /** Everything answers again, under a leader of a later term. */
  const untilBack = async (before: number) => {
    for (const api of apis) await until(() => isReady(api), 'it is back')
    await until(async () => (await termOf().catch(() => 0)) > before, 'one leads')
  }
  const unfinished = async () =>
    (await two.call('/v1/accounts/default/operations?filter=done=false', { as })).json.operations ?? []

  test('a failover of PostgreSQL is not noticed, and what was acknowledged is done', async (context) => {
    await unnoticed(context, async () => {
      const purge = await two.call(`/v1/${site.name}:clearCache`, { method: 'POST', as, body: {} })
      const asked = await upload(one, as, server.name, nodeServer('asked before the failover'))
      assert.deepEqual([purge.status, asked.status], [200, 200])
      const term = await termOf()
      await pair.failOver()
      await untilBack(term)
      assert.equal((await untilDone(two, as, asked.json.name)).error, undefined)
      for (const edge of edges) assert.equal((await siteAnswer(edge, server.url)).text, 'asked before the failover')
      const triggers = await one.call(`/v1/${site.name}/triggers`, { as })
      assert.match(triggers.text, /PURGE_CACHE/)
      await deployServer('after the failover')
    })
    assert.deepEqual(await unfinished(), [])
  })

  test('visitors of a cluster do without PostgreSQL for longer than a lease', {
    skip: isLong ? false : 'takes minutes: npm run test:long',
  }, async (context) => {
    await unnoticed(context, async () => {
      const term = await termOf()
      await pair.replica.stop()
      await wait(LONG_OUTAGE_MS)
      await pair.replica.start()
      await untilBack(term)
      await deployServer('after the outage')
    })
    assert.deepEqual(await unfinished(), [])
  })

  test('a node that is added gets apps, and neither that nor its removal is noticed', async (context) => {
    await unnoticed(context, () => guide.follow('Add a node'))
    const only = ['--filter', 'desired-state=running', '--format', '{{.CurrentState}}']
    const runningThere = async () => (await first.docker('node', 'ps', 'paris-4', ...only)).match(/^Running/gm)?.length
    // Each goes to one of the nodes with the fewest apps, so one of the first of them is there.
    let moved = server
    for (let number = 1; number <= guide.layout.length + 1 && !(await runningThere()); number++) {
      moved = await create(`moved-${number}`)
      assert.equal((await deploy(one, as, moved.name, nodeServer('moved'))).error, undefined)
    }
    assert.ok(await runningThere(), 'the node has got an app')
    const way = waysTo({ moved: moved.url })
    for (const { edge, url } of way) await until(async () => (await siteAnswer(edge, url)).status === 200, 'it answers')
    const itsVisitors = startVisitors(t, way)
    await unnoticed(context, async () => {
      const itsFigures = await itsVisitors.during(async () => {
        await guide.follow('Drain a node')
        await until(async () => !(await runningThere()), 'the node is empty')
        for (const { edge, url } of way) assert.equal((await siteAnswer(edge, url)).text, 'moved')
      })
      context.diagnostic(JSON.stringify(itsFigures))
      assert.equal(itsFigures.failed, 0, itsFigures.examples.join('\n'))
      await guide.follow('Remove a node')
    })
    await itsVisitors.stop()
    const findings = async () => JSON.parse(await operator('cluster status --json')).findings
    await until(async () => (await findings()).length === 0, 'its status shows nothing wrong')
  })

  test('the token of a machine that has left is taken back', async () => {
    await guide.follow('Take back a token')
    assert.match(await operator('cluster tokens'), /node +paris-4/)
  })

  test('every block of the page was run', () => assert.deepEqual(guide.notFollowed(), []))
})
