/**
 * A service over several machines, each with a data folder of its own: two control processes and workers share PostgreSQL, the
 * object store and the registry. Any control process answers any call, and a worker builds.
 */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { freePort } from '../../support/certificates/pebble.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { openCheckout, remoteUrl, runGit } from '../../support/git/checkout.ts'
import { NEEDS_REGISTRY } from '../../support/images/registry.ts'
import { NEEDS_POSTGRES } from '../../support/postgres/server.ts'
import { deploy, page, untilDone, upload } from '../../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { follow } from '../../support/service/events.ts'
import { heldBuild, untilHeld } from '../../support/service/held-build.ts'
import { startService, type TestService } from '../../support/service/service.ts'
import { startShared } from '../../support/service/swarm-service.ts'
import { until } from '../../support/until.ts'

const skip = NEEDS_POSTGRES.skip || NEEDS_REGISTRY.skip

suite('two control processes and a worker', { skip }, async () => {
  const ends: (() => unknown)[] = []
  const scope = { after: (end: () => unknown) => void ends.unshift(end) }
  after(async () => {
    for (const end of ends) await end()
  })
  const shared = await startShared(scope)
  const [clusterAddress, otherAddress] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const inApp = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`] as const
  const dockerSocket = join(await temporaryFolder(scope), 'docker.sock')
  const operators = { HEADLAND_OPERATOR_ACCOUNTS: 'default' }
  // Together, on a database that is empty.
  const [one, two] = await Promise.all([
    shared.control({ ...operators, HEADLAND_CLUSTER_LISTEN: clusterAddress, HEADLAND_IN_APP_LISTEN: inApp[0] }),
    shared.control({
      ...operators,
      HEADLAND_CLUSTER_LISTEN: otherAddress,
      HEADLAND_IN_APP_LISTEN: inApp[1],
      HEADLAND_DOCKER_SOCKET: dockerSocket,
    }),
  ])
  const startWorker = () => shared.worker({ HEADLAND_CONTROL_ADDRESSES: `${clusterAddress},${otherAddress}` })
  let worker = await startWorker()
  const as = await one.login()
  const environment = await createEnvironment(one, as)

  test('operators see both control processes, the leader and an idle worker at each of them', async () => {
    for (const service of [one, two]) {
      const { status, json, text } = await until(async () => {
        const found = await service.call('/v1/cluster', { as })
        return found.json.leader && found.json.controls?.length === 2 && found.json.workers.length > 0 && found
      }, 'all of them are on record')
      assert.equal(status, 200, text)
      assert.deepEqual(json.controls.map(({ leading }: { leading: boolean }) => leading).toSorted(), [false, true])
      const [worker] = json.workers
      assert.equal(worker.builds, 0)
      assert.ok(worker.places >= 1)
      assert.equal(worker.version, json.version)
      assert.ok(worker.process.startsWith(`${hostname()} `), worker.process)
    }
  })

  test('an operation that was asked of one is waited for at the other, and its events come there', async (t) => {
    const follower = await follow(t, two, { as })
    const asked = await upload(one, as, environment.name, page('one'))
    assert.equal(asked.status, 200, asked.text)
    const done = await untilDone(two, as, asked.json.name)
    assert.equal(done.error, undefined)
    await follower.untilNamed(new RegExp(`operations/${asked.json.name.split('/').at(-1)}$`))
    for (const service of [one, two]) {
      const { json } = await service.call(`/v1/${environment.name}`, { as })
      assert.equal(json.state, 'LIVE')
    }
    assert.deepEqual(await outputsOf(one), [])
    assert.deepEqual(await outputsOf(two), [])
    assert.equal((await outputsOf(worker)).length, 1)
  })

  test('what a worker has built is served by another machine, which gets it from the registry', async (t) => {
    assert.equal((await deploy(two, as, environment.name, page('from the registry'))).error, undefined)
    const local = await startService(t, { settings: shared.settings })
    assert.match((await siteAnswer(local, environment.url)).text, /from the registry/)
    assert.equal(await local.stop(), 0)
  })

  test('an earlier deployment is made live again without files on the disk', async () => {
    const { json } = await one.call(`/v1/${environment.name}/deployments`, { as })
    const [, before] = json.deployments
    const asked = await two.call(`/v1/${before.name}:activate`, { method: 'POST', as, body: {} })
    assert.equal(asked.status, 200, asked.text)
    assert.equal((await untilDone(one, as, asked.json.name)).error, undefined)
  })

  test('an edge that follows one uses what was changed at the other as soon as the change is done', async (t) => {
    const token = (await one.operator('cluster', 'token', 'edge', 'sydney-1')).trim()
    const edge = await startService(t, {
      settings: {
        HEADLAND_ENGINE: 'swarm',
        HEADLAND_ROLES: 'edge',
        HEADLAND_CONTROL_ADDRESSES: clusterAddress,
        HEADLAND_CLUSTER_TOKEN: token,
      },
    })
    const known = await siteAnswer(edge, 'http://no-such.localhost/')
    await until(async () => (await siteAnswer(edge, environment.url)).text !== known.text, 'the edge has routes')
    const app = await createApp(two, as)
    for (let times = 0; times < 3; times++) {
      const made = await createEnvironment(two, as, { app })
      assert.notEqual((await siteAnswer(edge, made.url)).text, known.text)
    }
    assert.equal(await edge.stop(), 0)
  })

  test('a control process without edges and files still explains an address', async () => {
    const { status, json, text } = await two.call(`/v1/${environment.name}:trace?url=/`, { as })
    assert.equal(status, 200, text)
    assert.match(JSON.stringify(json), /has its files on other machines/)
  })

  test('a log-in at one is a session at the other', async () => {
    const made = await one.call('/v1/accounts/default/users', {
      method: 'POST',
      as,
      body: { email: 'new@example.com', role: 'viewer' },
    })
    const { headers } = await one.call('/v1/session', {
      method: 'POST',
      body: { email: 'new@example.com', password: made.json.password },
    })
    const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
    const { json } = await two.call('/v1/session', { headers: { cookie } })
    assert.deepEqual(json.accounts, [{ name: 'accounts/default', role: 'viewer' }])
  })

  test('what an app stores through one control process, it reads through the other', async () => {
    const id = environment.name.split('/').at(-1) ?? ''
    const headers = { authorization: `Bearer ${shared.kvTokenOf(id)}`, 'content-type': 'application/json' }
    const [here, there] = inApp.map((address) => `http://${address}/kv/v1/greeting`)
    const stored = await fetch(here ?? '', { method: 'PUT', headers, body: '"hello"' })
    assert.ok(stored.ok, await stored.text())
    assert.equal(await (await fetch(there ?? '', { headers })).text(), '"hello"')
    assert.equal((await fetch(here ?? '')).status, 401)
  })

  const [, , , appName = ''] = environment.name.split('/')
  const remoteAt = (service: TestService, login = as) => remoteUrl(service, login, `default/${appName}`)
  const folder = await temporaryFolder(scope)
  const work = await openCheckout(join(folder, 'work'))
  /** The commit of the branch, as a control process tells it. */
  const headAt = async (service: TestService) => (await work.git('ls-remote', remoteAt(service), 'main')).split('\t')[0]

  test('a push to a control process is built by a worker, with its log, and recorded as on one machine', async () => {
    const named = { method: 'PATCH', as, body: { branch: 'main' } }
    assert.equal((await one.call(`/v1/${environment.name}?updateMask=branch`, named)).status, 200)
    const script = 'echo built by a worker && mkdir -p dist && cp index.html dist'
    const sha = await work.commit(
      { ...page('pushed'), 'package.json': JSON.stringify({ scripts: { build: script } }) },
      'A page',
    )
    const pushed = await work.try('push', remoteAt(one), 'main')
    assert.equal(pushed.code, 0, pushed.text)
    assert.ok(pushed.text.includes(`: ${one.api}/default/apps/${appName}/environments/`), pushed.text)
    assert.match(pushed.text, /remote: built by a worker[\s\S]*remote: Live: http/)
    const { json } = await two.call(`/v1/${environment.name}/builds`, { as })
    assert.deepEqual([json.builds[0].commit.sha, json.builds[0].requestedBy.kind], [sha, 'CREDENTIAL'])
    const audit = await two.call('/v1/accounts/default/auditEvents?action=PUSH', { as: await one.login('owner') })
    const [{ way, by, address }, ...others] = audit.json.auditEvents
    assert.deepEqual([way, by.kind, address, others], ['GIT', 'CREDENTIAL', '127.0.0.1', []])
    const refused = await runGit(folder, ['ls-remote', remoteAt(two, await one.login('viewer'))])
    assert.notEqual(refused.code, 0)
  })

  test('a push whose build fails is refused, and a clone from the other control process has what was pushed before', async () => {
    const before = await work.git('rev-parse', 'HEAD')
    await work.commit(
      { 'package.json': JSON.stringify({ scripts: { build: 'echo no such luck; exit 3' } }) },
      'This breaks',
    )
    const pushed = await work.try('push', remoteAt(two), 'main')
    assert.equal(pushed.code, 1, pushed.text)
    assert.match(pushed.text, /remote: no such luck[\s\S]*BUILD_SCRIPT_FAILED[\s\S]*pre-receive hook declined/)
    await work.git('reset', '-q', '--hard', before)
    const cloned = await runGit(folder, ['clone', '-q', remoteAt(two), 'clone'])
    assert.equal(cloned.code, 0, cloned.text)
    assert.equal((await runGit(join(folder, 'clone'), ['rev-parse', 'HEAD'])).stdout, before)
  })

  test('a worker that is killed in the middle of a build is replaced by another one, and who pushed is told', async () => {
    const before = await work.git('rev-parse', 'HEAD')
    await work.commit(heldBuild('lost-worker', 'after the loss'), 'Held')
    const pushing = work.try('push', remoteAt(one), 'main')
    await untilHeld('lost-worker')
    const lost = worker
    await lost.kill()
    const pushed = await pushing
    assert.notEqual(pushed.code, 0)
    assert.match(pushed.text, /GIT_UNAVAILABLE\. The worker that ran git was lost/)
    const alone = await runGit(folder, ['ls-remote', remoteAt(two)])
    assert.match(alone.text, /GIT_UNAVAILABLE. No worker is connected/)
    worker = await startWorker()
    assert.equal(await headAt(two), before)
    await work.git('reset', '-q', '--hard', before)
    const held = await untilHeld('lost-worker')
    await held.goOn()
    const { json } = await two.call(`/v1/${environment.name}/operations`, { as })
    assert.equal((await untilDone(two, as, json.operations[0].name)).error, undefined)
  })

  test('a control process and a worker are reloaded, and go on', async () => {
    await one.operator('reload')
    await worker.operator('reload')
    assert.equal((await deploy(one, as, environment.name, page('reloaded'))).error, undefined)
  })

  test('an app is not made in a region without a node, and the reason lists those that have one', async (t) => {
    const nodes = [{ Spec: { Labels: { region: 'EU-W' } } }, { Spec: { Labels: {} } }]
    const engine = createServer((_, response) => response.end(JSON.stringify(nodes))).listen(dockerSocket)
    t.after(() => engine.close())
    const make = (region: string) =>
      two.call('/v1/accounts/default/apps?appId=elsewhere', {
        method: 'POST',
        as,
        body: { region: `regions/${region}`, uploadable: {} },
      })
    const refused = await make('UK')
    assert.equal(refused.reason, 'REGION_UNAVAILABLE')
    assert.match(refused.json.error.message, /There are nodes in: EU-W\./)
    assert.equal((await make('EU-W')).status, 200)
  })

  test('when the one that leads is killed, the other leads and goes on', async () => {
    const isLeading = async (service: TestService) => /^headland_leader 1$/m.test((await service.call('/metrics')).text)
    const leading = await until(async () => {
      for (const service of [one, two]) if (await isLeading(service)) return service
      return undefined
    }, 'one leads')
    const other = leading === one ? two : one
    await leading.kill()
    await until(() => isLeading(other), 'the other one leads')
    const sha = await work.commit(page('after'), 'After the loss')
    const pushed = await work.try('push', remoteAt(other), 'main')
    assert.equal(pushed.code, 0, pushed.text)
    assert.equal(await headAt(other), sha)
    await createEnvironment(other, as, { app: environment.name.split('/')[3] ?? '' })
  })
})

/** On the disk of a machine. */
const outputsOf = ({ dataDir }: TestService): Promise<string[]> => readdir(join(dataDir, 'outputs'))

suite('what cannot work is refused before anything is started', () => {
  const cases: [string, Record<string, string>, RegExp][] = [
    ['a worker on one machine', { HEADLAND_ROLES: 'worker' }, /role worker needs engine swarm/],
    ['an agent with apps on a swarm', { HEADLAND_ENGINE: 'swarm' }, /one role, and roles is agent,edge,control/],
    [
      'a control process that shares nothing',
      { HEADLAND_ENGINE: 'swarm', HEADLAND_ROLES: 'control' },
      /the role control needs databaseUrl, objectStore, registry, clusterListen, inAppListen, inAppUrl\./,
    ],
    [
      'an edge that knows no control process',
      { HEADLAND_ENGINE: 'swarm', HEADLAND_ROLES: 'edge' },
      /the role edge needs controlAddresses/,
    ],
  ]
  for (const [what, settings, message] of cases)
    test(what, async (t) => {
      const chosen = what.includes('shares nothing') ? { HEADLAND_DATABASE_URL: '' } : {}
      await assert.rejects(startService(t, { settings: { ...chosen, ...settings } }), message)
    })
})
