/** Leftovers in a cluster that belong to no live environment, once nothing is done any more. */
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { LABELS } from '../../src/swarm/names.ts'
import { until } from '../../test/support/until.ts'
import type { Inspected } from '../inspect.ts'
import { leftOnDisk, untilNothing } from '../machine/leftovers.ts'
import { isRunning, roleOf, signalTo } from '../processes.ts'
import type { Cluster } from './cluster.ts'
import type { Member } from './member.ts'

/** What was retired has half a minute for its last requests; an app that a dead process has left is looked for each minute. */
const TIMEOUT_MS = 120_000
/** An archive that was just stored stays: its row may not be written yet. */
const RECORDED_AFTER_MS = 6 * 60_000

type IsWanted = (deployment: string | undefined) => boolean

export async function leftInCluster(cluster: Cluster, found: Inspected): Promise<string[]> {
  const left = await leftAfterRounds(cluster, found)
  // What another process gave up after the leader had looked goes with the next round, which is an hour later otherwise.
  return left.length === 0 ? [] : leftAfterRounds(cluster, found)
}

/** Each process collects what is unused at its start. */
async function leftAfterRounds(cluster: Cluster, { live }: Inspected): Promise<string[]> {
  const { controls, worker } = cluster
  const deployments = new Set([...live.values()].flatMap(({ deployment, isServer }) => (isServer ? deployment : [])))
  await Promise.all([...controls.map((control) => reload(control, 'control')), reload(worker, 'worker')])
  const startedAt = Date.now()
  const sites = new Map([...live].map(([name, { deployment }]) => [name, { deployment, isServer: false }]))
  return untilNothing(async () => {
    const held = new Set(await column(cluster, HELD))
    const isWanted: IsWanted = (deployment = '') => deployments.has(deployment) || held.has(deployment)
    const onDisk = leftOnDisk({ dataDir: worker.service().dataDir, startedAt }, sites)
    return [
      ...(await leftInSwarm(cluster, isWanted)),
      ...(await leftInRows(cluster, isWanted)),
      ...(await leftInStore(cluster)),
      ...(await leftInRegistry(cluster)),
      ...onDisk.map((what) => `on the worker, ${what}`),
    ]
  }, TIMEOUT_MS)
}

/** Resolves when a new process has taken over. */
async function reload(member: Member, role: 'control' | 'worker') {
  const { pid } = member.service()
  const before = roleOf(pid, role)
  signalTo(pid, 'SIGHUP')
  await until(() => before === undefined || !isRunning(before), 'the new process has taken over')
}

/** Apps that may be about to go live, by what a process that died has left: they are kept for longer than a start takes. */
const HELD = 'SELECT deployment FROM cluster_apps WHERE hold_time > 1000 * extract(epoch FROM now())'
const APPS = 'SELECT deployment FROM cluster_apps WHERE is_gone = 0'
const INSTANCES = 'SELECT DISTINCT deployment FROM cluster_instances'
const ARCHIVES = 'SELECT archive_digest FROM builds UNION SELECT archive_digest FROM sources'
const MANIFESTS = 'SELECT manifest_digest FROM images'
const IMAGES =
  'SELECT output_digest FROM images EXCEPT SELECT output_digest FROM builds WHERE output_digest IS NOT NULL'
const OPERATIONS = 'SELECT id FROM operations WHERE done_time IS NULL'

async function column({ whole }: Cluster, statement: string): Promise<string[]> {
  const { server, settings } = whole.shared
  return (await server.psql(statement, settings.HEADLAND_DATABASE_URL)).split('\n').filter(Boolean)
}

async function leftInSwarm({ whole }: Cluster, isWanted: IsWanted): Promise<string[]> {
  const { docker, nodes } = whole.swarm
  const of = ({ Spec }: { Spec: { Labels?: Readonly<Record<string, string>> } }) => Spec.Labels?.[LABELS.deployment]
  const services = await docker.services({})
  const secrets = (await docker.secrets({})).filter((secret) => !isWanted(of(secret)))
  const known = new Set(services.map(({ ID }) => ID))
  const containers = await Promise.all(
    nodes.map(async (node) => {
      const listed = await node.docker('ps', '--format', '{{.Label "com.docker.swarm.service.id"}} {{.Names}}')
      const lines = listed.split('\n').filter((line) => line !== '' && !known.has(line.split(' ')[0] ?? ''))
      return lines.map((line) => `container on ${node.hostname} without a service: ${line}`)
    }),
  )
  return [
    ...services.filter((service) => !isWanted(of(service))).map((service) => `service of ${of(service)}`),
    ...secrets.map((secret) => `secret of ${of(secret)}`),
    ...containers.flat(),
  ]
}

async function leftInRows(cluster: Cluster, isWanted: IsWanted): Promise<string[]> {
  const left = async (statement: string) => (await column(cluster, statement)).filter((found) => !isWanted(found))
  return [
    ...(await left(APPS)).map((deployment) => `row of the app ${deployment}`),
    ...(await left(INSTANCES)).map((deployment) => `row of an instance of ${deployment}`),
    ...(await column(cluster, OPERATIONS)).map((operation) => `operation ${operation} that is not done`),
  ]
}

/** Parts of uploads that were not ended, archives of no build, and those whose content is not what their name says. */
async function leftInStore(cluster: Cluster): Promise<string[]> {
  const { objects, uploads } = cluster.whole.shared.store
  const needed = new Set((await column(cluster, ARCHIVES)).map((digest) => digest.split(':').at(-1)))
  const recordedUntil = Date.now() - RECORDED_AFTER_MS
  const archives = [...objects].flatMap(([key, { bytes, time }]): string[] => {
    const digest = /\/blobs\/..\/([0-9a-f]{64})$/.exec(key)?.[1]
    if (digest === undefined) return []
    if (createHash('sha256').update(bytes).digest('hex') !== digest) return [`the archive ${key} has other content`]
    return needed.has(digest) || time > recordedUntil ? [] : [`in the object store, the archive ${key} of no build`]
  })
  return [...[...uploads.values()].map(({ key }) => `in the object store, parts of ${key}`), ...archives]
}

/** Images of outputs that no build has any more, and images without a row. */
async function leftInRegistry(cluster: Cluster): Promise<string[]> {
  const { folder } = cluster.whole.shared.registry
  const known = new Set((await column(cluster, MANIFESTS)).map((digest) => digest.split(':').at(-1)))
  const files = await readdir(folder, { recursive: true })
  const stored = files.flatMap((file) => /_manifests\/revisions\/sha256\/([0-9a-f]{64})\/link$/.exec(file)?.[1] ?? [])
  return [
    ...(await column(cluster, IMAGES)).map((output) => `image of ${output}, which no build has`),
    ...stored.filter((digest) => !known.has(digest)).map((digest) => `image ${digest} in the registry without a row`),
  ]
}
