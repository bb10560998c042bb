/** Apps on a real swarm of three engines: placed, woken, isolated, restarted, and removed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dockerSeccomp } from '../../../src/engines/index.ts'
import type { Swarm } from '../../support/machine/swarm.ts'
import { type Cluster, createCluster } from '../../support/swarm/cluster.ts'
import type { AppImage } from '../../support/swarm/image.ts'
import { sharedImage, sharedSwarm, skip } from '../../support/swarm/shared.ts'
import { until } from '../../support/until.ts'

const swarm = skip ? ({} as Swarm) : await sharedSwarm()
const image = skip ? ({} as AppImage) : await sharedImage()
const cluster = skip ? ({} as Cluster) : createCluster({ cluster: 'apps', docker: swarm.docker, image })

/** The first answer of a deployment. */
const answerOf = (deployment: string, path = '/') =>
  until(async () => {
    const [url] = cluster.urls(deployment)
    const answer = url && (await swarm.visit(url + path))
    return answer && answer.status === 200 ? answer.text : undefined
  }, `${deployment} answers`)

/** Also where the test failed. */
async function removeAll() {
  for (const deployment of cluster.wanted()) cluster.forget(deployment)
  await cluster.roundsUntil(async () => (await swarm.docker.services({})).length === 0, 'all services are gone')
  await cluster.round()
  assert.deepEqual(await swarm.docker.secrets({}), [])
}

async function remove(deployment: string) {
  cluster.forget(deployment)
  await cluster.roundsUntil(() => cluster.of(deployment).length === 0, `${deployment} is gone`)
}

test('an app is created and answers, sleeps, and wakes', { skip }, async (t) => {
  t.after(removeAll)
  cluster.want('one', { variables: { NAME: 'one' } })
  const first = await cluster.round()
  assert.deepEqual(first, { isOurs: true, changes: 1, failed: [] })
  await cluster.roundsUntil(() => cluster.running('one').length === 1, 'it runs')
  assert.equal(await answerOf('one'), 'hello from one')
  assert.equal((await cluster.round()).changes, 0, 'nothing is changed twice')

  cluster.want('one', { replicas: 0 })
  await cluster.roundsUntil(() => cluster.of('one').length === 0, 'it sleeps')
  cluster.want('one', { replicas: 1 })
  await cluster.roundsUntil(() => cluster.running('one').length === 1, 'it is awake')
  assert.equal(await answerOf('one'), 'hello from one')

  cluster.want('one', { replicas: 3 })
  await cluster.roundsUntil(() => cluster.running('one').length === 3, 'three of them run')
  const urls = cluster.urls('one')
  assert.equal(new Set(urls).size, 3)
  for (const url of urls) await until(async () => (await swarm.visit(url))?.text === 'hello from one', `${url} answers`)
})

test('rounds go on by themselves, and a hint makes one at once', { skip }, async (t) => {
  t.after(removeAll)
  const stopping = new AbortController()
  const running = cluster.run(stopping.signal)
  cluster.want('hinted', { replicas: 0 })
  // Without a hint, the next round about everything finds it.
  const isMade = async () => (await swarm.docker.services({})).length === 1
  await until(isMade, 'the service is there')
  cluster.want('hinted', { replicas: 1 })
  cluster.hint('hinted')
  await until(() => cluster.running('hinted').length === 1, 'it is awake')
  await answerOf('hinted')
  cluster.want('hinted', { replicas: 0 })
  cluster.hint('hinted')
  await until(() => cluster.of('hinted').length === 0, 'it sleeps')
  cluster.forget('hinted')
  cluster.hint('hinted')
  await until(async () => !(await isMade()), 'the service is gone')
  stopping.abort()
  await running
})

test('an app runs in its region, and a region that no node has is named', { skip }, async (t) => {
  t.after(removeAll)
  const [first, second, third] = swarm.nodes
  cluster.want('europe', { replicas: 4 })
  cluster.want('america', { region: 'US-C', replicas: 2 })
  cluster.want('nowhere', { region: 'AUS-SE' })
  await cluster.roundsUntil(
    () => cluster.running('europe').length === 4 && cluster.running('america').length === 2,
    'they run',
  )
  const nodesOf = (deployment: string) => new Set(cluster.running(deployment).map(({ node }) => node))
  assert.deepEqual(nodesOf('europe'), new Set([first.id, second.id]))
  assert.deepEqual(nodesOf('america'), new Set([third.id]))
  assert.deepEqual(new Set(cluster.running('america').map(({ address }) => address)), new Set([third.address]))
  const [row] = await cluster.roundsUntil(
    () => cluster.of('nowhere').some(({ reason }) => reason) && cluster.of('nowhere'),
    'it is known to have no region',
  )
  assert.equal(row?.state, 'STARTING')
  assert.equal(row?.reason, 'REGION_MISSING')
  assert.match(row?.message ?? '', /no suitable node/)
  assert.deepEqual(await cluster.regions(), [
    { region: 'EU-W', nodes: 2, available: 2 },
    { region: 'US-C', nodes: 1, available: 1 },
  ])
  await remove('europe')
  await remove('america')
  // With a node that gets the region, the same app starts.
  await swarm.docker.changeNode(third.id, (spec) => ({ ...spec, Labels: { region: 'AUS-SE' } }))
  await cluster.roundsUntil(() => cluster.running('nowhere').length === 1, 'it runs')
  await swarm.docker.changeNode(third.id, (spec) => ({ ...spec, Labels: { region: 'US-C' } }))
})

test('an app that does not fit on a node, and one whose image is missing, say so', { skip }, async (t) => {
  t.after(removeAll)
  cluster.want('large', { reservedMemoryBytes: 2 ** 50 })
  cluster.want('imageless', { image: image.image.replace(/[0-9a-f]{64}$/, 'f'.repeat(64)) })
  const reasonOf = (deployment: string) => cluster.of(deployment).find(({ reason }) => reason)?.reason
  await cluster.roundsUntil(() => reasonOf('large') && reasonOf('imageless'), 'both have a reason')
  assert.equal(reasonOf('large'), 'NO_NODE')
  assert.equal(reasonOf('imageless'), 'IMAGE_MISSING')
})

test('a crash loop is seen, with exit code and number of restarts, and does not stop others', { skip }, async (t) => {
  t.after(removeAll)
  cluster.want('crashing', { variables: { CRASH: '42' } })
  cluster.want('fine')
  await cluster.roundsUntil(() => cluster.running('fine').length === 1, 'the other one runs')
  const row = await cluster.roundsUntil(
    () => cluster.of('crashing').find(({ state, restarts }) => state === 'CRASHED' && restarts >= 2),
    'it has crashed twice',
  )
  assert.equal(row.exitCode, 42)
  assert.match(row.message, /non-zero exit \(42\)/)
  // Swarm gives up after its attempts; the reconciler begins anew after a pause, also as a new process.
  cluster.renew()
  await cluster.roundsUntil(() => cluster.of('crashing').some(({ restarts }) => restarts >= 4), 'it was started anew')
  await cluster.roundsUntil(async () => {
    const [service] = await swarm.docker.services({ name: ['hl-apps-crashing'] })
    return service?.Spec.Labels['headland.retries'] === '1'
  }, 'it was started anew once')
})

test('variables are seen by the app, and in no description of it', { skip }, async (t) => {
  t.after(removeAll)
  const SECRET = 'a secret that no description shows'
  cluster.want('hidden', { variables: { SECRET, QUOTED: `it's "quoted" – ÄÖÜ\n$HOME` } })
  await cluster.roundsUntil(() => cluster.running('hidden').length === 1, 'it runs')
  const seen = JSON.parse(await answerOf('hidden', '/variables'))
  assert.equal(seen.SECRET, SECRET)
  assert.equal(seen.QUOTED, `it's "quoted" – ÄÖÜ\n$HOME`)
  assert.equal(seen.PORT, '3000')
  const [row] = cluster.running('hidden')
  const node = swarm.nodes.find(({ id }) => id === row?.node)
  const [task] = await swarm.docker.tasks({ id: [row?.instance ?? ''] })
  const texts = [
    await swarm.nodes[0].docker('service', 'inspect', 'hl-apps-hidden'),
    JSON.stringify(await swarm.docker.services({})),
    JSON.stringify(await swarm.docker.tasks({})),
    JSON.stringify(await swarm.docker.secrets({})),
    await node?.docker('inspect', task?.Status.ContainerStatus?.ContainerID ?? ''),
  ]
  for (const text of texts) {
    assert.ok((text?.length ?? 0) > 100)
    assert.equal(text?.includes(SECRET), false)
    assert.equal(text?.includes(Buffer.from(SECRET).toString('base64').slice(0, 30)), false)
  }

  // Another generation has other variables; the secrets of the one before are removed.
  cluster.want('hidden', { variables: { SECRET: 'another' }, generation: 2 })
  await cluster.round()
  await cluster.roundsUntil(
    () => cluster.running('hidden').some(({ instance }) => instance !== row?.instance),
    'a new one runs',
  )
  assert.equal(JSON.parse(await answerOf('hidden', '/variables')).SECRET, 'another')
  await cluster.roundsUntil(async () => (await swarm.docker.secrets({})).length === 1, 'one secret is left')
  assert.equal((await swarm.docker.secrets({}))[0]?.Spec.Name, 'hl-apps-hidden-2-0')
})

test('an app has no privilege, writes where it may, and is ended at its limit of memory', { skip }, async (t) => {
  t.after(removeAll)
  cluster.want('inside', { memoryBytes: 192 * 1024 * 1024, pids: 60 })
  await cluster.roundsUntil(() => cluster.running('inside').length === 1, 'it runs')
  const { status, ...seen } = JSON.parse(await answerOf('inside', '/inside'))
  const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status)?.[1]
  assert.deepEqual(
    Object.fromEntries(['Uid', 'Gid', 'CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp'].map((name) => [name, field(name)])),
    { Uid: '10001', Gid: '10001', CapEff: '0'.repeat(16), CapBnd: '0'.repeat(16), NoNewPrivs: '1', Seccomp: '2' },
  )
  assert.match(seen.first, /docker-init/)
  assert.deepEqual(
    { ...seen, first: undefined },
    {
      uid: 10_001,
      first: undefined,
      root: 'EROFS',
      tmp: 'done',
      tmpFull: 'ENOSPC',
      cache: 'of the image',
      cacheWrite: 'done',
      cacheFull: 'ENOSPC',
    },
  )
  const [row] = cluster.running('inside')
  const node = swarm.nodes.find(({ id }) => id === row?.node)
  const [task] = await swarm.docker.tasks({ id: [row?.instance ?? ''] })
  const [container] = JSON.parse(
    (await node?.docker('inspect', task?.Status.ContainerStatus?.ContainerID ?? '')) ?? '[]',
  )
  assert.equal(container.HostConfig.Memory, 192 * 1024 * 1024)
  assert.equal(container.HostConfig.PidsLimit, 60)
  assert.equal(container.HostConfig.NanoCpus, 1_000_000_000)
  const profile = `seccomp=${JSON.stringify(dockerSeccomp())}`
  assert.deepEqual(container.HostConfig.SecurityOpt.toSorted(), ['no-new-privileges=true', profile])

  const [url = ''] = cluster.urls('inside')
  assert.equal(await swarm.visit(`${url}/memory`), undefined)
  const crashed = await cluster.roundsUntil(
    () => cluster.of('inside').find(({ state }) => state === 'CRASHED'),
    'it was ended',
  )
  assert.equal(crashed.exitCode, 137)
  await cluster.roundsUntil(() => cluster.running('inside').length === 1, 'it runs again')
  for (const { docker } of swarm.nodes) assert.equal(await docker('volume', 'ls', '--quiet'), '')
})

test('apps of a node that is drained start elsewhere', { skip }, async (t) => {
  t.after(removeAll)
  const [first, second] = swarm.nodes
  const availability = (to: 'active' | 'drain') =>
    swarm.docker.changeNode(second.id, (spec) => ({ ...spec, Availability: to }))
  t.after(() => availability('active'))
  cluster.want('drained', { replicas: 2 })
  await cluster.roundsUntil(() => cluster.running('drained').length === 2, 'they run')
  await availability('drain')
  const isMoved = () =>
    cluster.of('drained').length === 2 && cluster.running('drained').every(({ node }) => node === first.id)
  await cluster.roundsUntil(() => cluster.running('drained').length === 2 && isMoved(), 'both run on the other node')
  const [region] = await cluster.regions()
  assert.deepEqual(region, { region: 'EU-W', nodes: 2, available: 1 })
  assert.ok(
    cluster.running('drained').every(({ restarts }) => restarts === 0),
    'this is no crash',
  )
})

test('an app of a node that is cut off starts elsewhere, and one of them is left when it is back', {
  skip,
}, async (t) => {
  t.after(removeAll)
  const [, second] = swarm.nodes
  cluster.want('moving', { replicas: 2 })
  await cluster.roundsUntil(() => cluster.running('moving').length === 2, 'they run')
  assert.ok(cluster.running('moving').some(({ node }) => node === second.id))
  await second.unplug()
  await cluster.roundsUntil(() => cluster.of('moving').some(({ reason }) => reason === 'NODE_AWAY'), 'it is missed')
  await cluster.roundsUntil(
    () => cluster.running('moving').length === 2 && cluster.running('moving').every(({ node }) => node !== second.id),
    'both run elsewhere',
  )
  for (const url of cluster.urls('moving'))
    await until(async () => (await swarm.visit(url))?.status === 200, `${url} answers`)
  await second.plugIn()
  await cluster.roundsUntil(async () => {
    const [node] = await swarm.docker.nodes({ id: [second.id] })
    return node?.Status.State === 'ready' && cluster.of('moving').length === 2
  }, 'the old one has ended')
  await until(async () => (await second.docker('ps', '--quiet')) === '', 'its container has ended')
})
