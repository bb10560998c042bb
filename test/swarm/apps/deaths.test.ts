/** The process that changes a swarm dies between any two writes; the next one makes the swarm what it should be. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Problem } from '../../../src/contract/index.ts'
import type { Docker } from '../../../src/swarm/index.ts'
import type { Swarm } from '../../support/machine/swarm.ts'
import { createCluster } from '../../support/swarm/cluster.ts'
import type { AppImage } from '../../support/swarm/image.ts'
import { sharedSwarm, skip } from '../../support/swarm/shared.ts'
import { until } from '../../support/until.ts'

const swarm = skip ? ({} as Swarm) : await sharedSwarm()
/** No node can pull it: what is written to the managers is all that these tests look at. */
const image: AppImage = {
  image: `10.99.0.1:9/none@sha256:${'0'.repeat(64)}`,
  command: ['node'],
  writable: [],
  registry: '',
}

const WRITES = ['createService', 'changeService', 'removeService', 'createSecret', 'removeSecret'] as const

/** Dies at its n-th write, before it is made or after: nothing more is written then. */
function dying(docker: Docker, at: number, isMade: boolean): { docker: Docker; writes(): number } {
  let count = 0
  const wrapped = WRITES.map((name) => {
    const write = docker[name] as (...args: unknown[]) => Promise<unknown>
    const counted = async (...args: unknown[]) => {
      const number = ++count
      if (number === at && isMade) await write(...args)
      if (number >= at) throw new Error('the process is dead')
      return write(...args)
    }
    return [name, counted]
  })
  return { docker: { ...docker, ...Object.fromEntries(wrapped) }, writes: () => count }
}

/** Everything of the swarm that a change could leave behind. */
async function contents() {
  const services = (await swarm.docker.services({})).map(({ Spec }) => ({
    name: Spec.Name,
    replicas: Spec.Mode.Replicated?.Replicas,
    generation: Spec.Labels['headland.generation'],
    secrets: Spec.TaskTemplate.ContainerSpec.Secrets?.map(({ SecretName }) => SecretName),
  }))
  const secrets = (await swarm.docker.secrets({})).map(({ Spec }) => Spec.Name)
  return { services: services.toSorted((a, b) => (a.name < b.name ? -1 : 1)), secrets: secrets.toSorted() }
}

/** One app stays, one gets another generation, one sleeps, one goes, and one is new. Its variables need two secrets. */
const BEFORE = { stays: {}, changes: {}, sleeps: { replicas: 1 }, goes: {} }
const LARGE = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`V${at}`, 'x'.repeat(60 * 1024)]))

function begin(cluster: string) {
  const made = createCluster({ cluster, docker: swarm.docker, image })
  for (const [deployment, change] of Object.entries(BEFORE)) made.want(deployment, { replicas: 0, ...change })
  return made
}

function change(cluster: ReturnType<typeof begin>) {
  cluster.want('changes', { generation: 2 })
  cluster.want('sleeps', { replicas: 0 })
  cluster.forget('goes')
  cluster.want('new', { replicas: 0, variables: LARGE })
}

const EXPECTED = {
  services: [
    { name: 'changes', replicas: 0, generation: '2', secrets: ['changes-2-0'] },
    { name: 'new', replicas: 0, generation: '1', secrets: ['new-1-0', 'new-1-1'] },
    { name: 'sleeps', replicas: 0, generation: '1', secrets: ['sleeps-1-0'] },
    { name: 'stays', replicas: 0, generation: '1', secrets: ['stays-1-0'] },
  ],
  secrets: ['changes-2-0', 'new-1-0', 'new-1-1', 'sleeps-1-0', 'stays-1-0'],
}

const withPrefix = (cluster: string): unknown =>
  JSON.parse(JSON.stringify(EXPECTED).replaceAll(/"(changes|new|sleeps|stays)/g, `"hl-${cluster}-$1`))

async function removeAll(cluster: ReturnType<typeof begin>) {
  for (const deployment of cluster.wanted()) cluster.forget(deployment)
  cluster.renew()
  await cluster.round()
  assert.deepEqual(await contents(), { services: [], secrets: [] })
}

for (const isMade of [false, true])
  test(`a death at any write, ${isMade ? 'after' : 'before'} it is made, leaves nothing that stays`, {
    skip,
  }, async () => {
    for (let at = 1, isOver = false; !isOver; at++) {
      const cluster = begin('deaths')
      assert.deepEqual((await cluster.round()).failed, [])
      change(cluster)
      const wrapped = dying(swarm.docker, at, isMade)
      cluster.renew({ docker: wrapped.docker })
      const { failed } = await cluster.round()
      isOver = wrapped.writes() < at
      assert.equal(failed.length > 0, !isOver, `write ${at}`)
      cluster.renew()
      assert.deepEqual((await cluster.round()).failed, [])
      assert.deepEqual(await contents(), withPrefix('deaths'), `write ${at}`)
      assert.equal((await cluster.round()).changes, 0)
      await removeAll(cluster)
      assert.ok(at < 30)
      if (isOver) assert.ok(at > 8, 'there are more writes than these')
    }
  })

test('services and secrets of others stay, and those of the cluster that belong to no app go', { skip }, async () => {
  const cluster = createCluster({ cluster: 'mine', docker: swarm.docker, image })
  const other = createCluster({ cluster: 'mine-too', docker: swarm.docker, image })
  other.want('app', { replicas: 0 })
  await other.round()
  const foreign = { TaskTemplate: { ContainerSpec: { Image: 'none' } }, Mode: { Replicated: { Replicas: 0 } } }
  const labels = { 'headland.cluster': 'mine', 'headland.deployment': 'lost' }
  await swarm.docker.createService({ ...foreign, Name: 'foreign', Labels: {} })
  await swarm.docker.createService({ ...foreign, Name: 'hl-mine-lost', Labels: labels })
  await swarm.docker.createSecret('foreign', {}, Buffer.from('x'))
  await swarm.docker.createSecret('hl-mine-lost-1-0', labels, Buffer.from('x'))
  cluster.want('app', { replicas: 0 })
  assert.deepEqual((await cluster.round()).failed, [])
  const { services, secrets } = await contents()
  assert.deepEqual(
    services.map(({ name }) => name),
    ['foreign', 'hl-mine-app', 'hl-mine-too-app'],
  )
  assert.deepEqual(secrets, ['foreign', 'hl-mine-app-1-0', 'hl-mine-too-app-1-0'])
  cluster.forget('app')
  other.forget('app')
  await cluster.round()
  await other.round()
  for (const { ID } of await swarm.docker.services({})) await swarm.docker.removeService(ID)
  for (const { ID } of await swarm.docker.secrets({})) await swarm.docker.removeSecret(ID)
})

test('a name that a stranger has taken is an error of that app, and what the stranger made stays', {
  skip,
}, async () => {
  const cluster = createCluster({ cluster: 'taken', docker: swarm.docker, image })
  const task = { TaskTemplate: { ContainerSpec: { Image: 'none' } }, Mode: { Replicated: { Replicas: 0 } } }
  await swarm.docker.createService({ ...task, Name: 'hl-taken-one', Labels: {} })
  await swarm.docker.createSecret('hl-taken-two-1-0', {}, Buffer.from('of a stranger'))
  for (const name of ['one', 'two', 'three', '../four']) cluster.want(name, { replicas: 0 })
  const { failed } = await cluster.round()
  assert.deepEqual(failed.map(({ deployment }) => deployment).toSorted(), ['../four', 'one', 'two'])
  const { services } = await contents()
  assert.deepEqual(
    services.map(({ name, generation }) => [name, generation]),
    [
      ['hl-taken-one', undefined],
      ['hl-taken-three', '1'],
    ],
  )
  for (const { ID } of await swarm.docker.services({})) await swarm.docker.removeService(ID)
  for (const { ID } of await swarm.docker.secrets({})) await swarm.docker.removeSecret(ID)
})

test('a process that may not write any more writes nothing, in the middle of a round too', { skip }, async () => {
  let allowed = Number.POSITIVE_INFINITY
  const cluster = createCluster({ cluster: 'fenced', docker: swarm.docker, image, mayWrite: async () => allowed-- > 0 })
  for (const name of ['a', 'b', 'c']) cluster.want(name, { replicas: 0 })
  // One question before the round, then one before each write.
  allowed = 3
  await assert.rejects(cluster.round(), { name: 'WriteFenced' })
  const { services, secrets } = await contents()
  assert.equal(services.length + secrets.length, 2)
  assert.deepEqual(await cluster.round(), { isOurs: false, changes: 0, failed: [] })
  allowed = Number.POSITIVE_INFINITY
  await removeAll(cluster)
})

test('while a node has an engine that cannot isolate apps, nothing is started, and the rest is done', {
  skip,
}, async () => {
  const cluster = createCluster({ cluster: 'old', docker: swarm.docker, image })
  cluster.want('sleeps')
  cluster.want('goes', { replicas: 0 })
  await cluster.round()
  const nodes = async () => {
    const [one, ...others] = await swarm.docker.nodes()
    assert.ok(one)
    return [{ ...one, Description: { ...one.Description, Engine: { EngineVersion: '24.0.7' } } }, ...others]
  }
  cluster.renew({ docker: { ...swarm.docker, nodes } })
  cluster.want('sleeps', { replicas: 0 })
  cluster.want('new', { replicas: 0 })
  cluster.forget('goes')
  const { failed } = await cluster.round()
  assert.deepEqual(
    failed.map(({ deployment, error }) => [deployment, (error as Problem).reason]),
    [['new', 'ISOLATION_MISSING']],
  )
  const { services } = await contents()
  assert.deepEqual(
    services.map(({ name, replicas }) => [name, replicas]),
    [['hl-old-sleeps', 0]],
  )
  await removeAll(cluster)
})

test('an update that another writer came before is made all the same', { skip }, async () => {
  const cluster = createCluster({ cluster: 'race', docker: swarm.docker, image })
  cluster.want('app', { replicas: 0 })
  await cluster.round()
  const [service] = await swarm.docker.services({ name: ['hl-race-app'] })
  const id = service?.ID ?? ''
  let tries = 0
  await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      swarm.docker.changeService(id, ({ Spec }) => {
        tries += 1
        return { ...Spec, Labels: { ...Spec.Labels, [name]: name } }
      }),
    ),
  )
  const { Spec } = await swarm.docker.service(id)
  assert.deepEqual([Spec.Labels.a, Spec.Labels.b, Spec.Labels.c], ['a', 'b', 'c'])
  assert.ok(tries >= 3)
  await removeAll(cluster)
})

test('an engine that does not answer, and one that answers without end, are errors with a name', { skip }, async () => {
  const { createDocker } = await import('../../../src/swarm/index.ts')
  const gone = createDocker({ address: { socketPath: '/nonexistent/docker.sock' } })
  await assert.rejects(gone.nodes(), { name: 'DockerUnreachable', message: /GET \/v1\.44\/nodes: .*ENOENT/ })
  await assert.rejects(swarm.docker.service('none'), {
    name: 'DockerRefused',
    status: 404,
    message: /service none not found/,
  })
  const [, second] = swarm.nodes
  await assert.rejects(second.client.check(), /is no manager of a swarm/)
  await until(async () => (await swarm.docker.check()) === undefined, 'the manager is one')
})
