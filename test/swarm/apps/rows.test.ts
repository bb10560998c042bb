/** Apps as rows, on a real swarm, a real PostgreSQL, and an edge's connection over TLS; leaders are killed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChanges, parseDatabaseAddress, systemClock } from '../../../src/base/index.ts'
import { Problem } from '../../../src/contract/index.ts'
import { MIGRATIONS, migrate, statement } from '../../../src/storage/index.ts'
import { openPostgres } from '../../../src/storage/sql/postgres/postgres.ts'
import { temporaryFolder } from '../../support/folder.ts'
import type { Swarm } from '../../support/machine/swarm.ts'
import { openProcess, request } from '../../support/modules/cluster.ts'
import type { AppImage } from '../../support/swarm/image.ts'
import { ownDatabase, scope, sharedImage, sharedSwarm, skip } from '../../support/swarm/shared.ts'
import { startRowsLeader } from '../../support/swarm/start-rows-leader.ts'
import { until } from '../../support/until.ts'

const CLUSTER = 'rows'
const IDLE_MS = 6000

const swarm = skip ? ({} as Swarm) : await sharedSwarm()
const image = skip ? ({} as AppImage) : await sharedImage()
const databaseUrl = skip ? '' : await ownDatabase()
const logFolder = skip ? '' : await temporaryFolder(scope)
const changes = createChanges()
const process1 = skip ? undefined : await openFirst()

/** The process that starts apps and has the edge: it never leads. */
async function openFirst() {
  const sql = await openPostgres(parseDatabaseAddress(databaseUrl), {
    onChange: changes.notify,
    onEverything: changes.notifyEverything,
  })
  scope.after(() => sql.close())
  await migrate(sql, MIGRATIONS, systemClock.now())
  const regionOf = async (environment: string) => (environment === 'nowhere' ? 'AUS-SE' : 'EU-W')
  const imageOf = async (build: string) =>
    build === 'missing' ? image.image.replace(/[0-9a-f]{64}$/, 'f'.repeat(64)) : image.image
  const opened = await openProcess(scope, { sql, changes, imageOf, regionOf, logFolder, idleMs: IDLE_MS })
  return { ...opened, sql, edge: await opened.edge() }
}

function first() {
  assert.ok(process1)
  return process1
}

const startLeader = (holder: string) =>
  startRowsLeader(scope, swarm, { databaseUrl, cluster: CLUSTER, idleMs: IDLE_MS, holder })

const { signal } = new AbortController()
const services = async () => (await swarm.docker.services({})).map(({ Spec }) => Spec.Labels['headland.deployment'])
const tasksOf = (deployment: string) => swarm.docker.tasks({ name: [`hl-${CLUSTER}-${deployment}`] })
const own = (deployment: string, variables: Record<string, string> = {}) =>
  request(deployment, {
    variables: { NAME: deployment, ...variables },
    argv: image.command,
    writable: ['cache'],
    owner: { account: 'acme', environment: deployment },
  })

/** The page of a deployment, where the edge was told that it is. */
const pageOf = async (deployment: string) => {
  const [url = ''] = first().edge.addressesOf(deployment)
  return (await swarm.visit(url))?.text
}

const isReason = (reason: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Problem, String(error))
  assert.equal(error.reason, reason, error.message)
  assert.match(error.message, message)
  return true
}

let leader: Awaited<ReturnType<typeof startLeader>>

test('an app starts, an edge is told, it sleeps without visitors, an edge wakes it, and it is retired', {
  skip,
}, async (t) => {
  leader = await startLeader('one')
  await leader.leads()
  const { instances, edge } = first()
  const began = performance.now()
  await instances.start(own('app'), { signal })
  t.diagnostic(`a start took ${Math.round(performance.now() - began)} ms`)
  await edge.untilTold('app', 'running')
  assert.equal(await pageOf('app'), 'hello from app')
  assert.equal(instances.of('app')?.state, 'RUNNING')

  await edge.untilTold('app', 'asleep')
  assert.equal(instances.of('app')?.state, 'ASLEEP')
  const isEnded = ({ Status }: { Status: { State: string } }) => !['running', 'starting'].includes(Status.State)
  await until(async () => (await tasksOf('app')).every(isEnded), 'its instance has ended')
  const wakes = performance.now()
  edge.notify('wake', 'app')
  await edge.untilTold('app', 'running')
  t.diagnostic(`a wake took ${Math.round(performance.now() - wakes)} ms`)
  assert.equal(await pageOf('app'), 'hello from app')

  await instances.retire('app', { isDrained: true })
  assert.equal(edge.stateOf('app'), undefined)
  assert.equal(instances.holds('app'), false)
  await until(async () => (await services()).length === 0, 'its service is gone')
  await until(async () => (await swarm.docker.secrets({})).length === 0, 'its variables are gone')
})

test('a start that cannot succeed says why, and leaves nothing', { skip }, async () => {
  const { instances } = first()
  const crashing = instances.start(own('crashing', { CRASH: '42' }), { signal })
  await assert.rejects(crashing, isReason('START_CRASHED', /ended with exit code 42 before it answered/))
  await assert.rejects(
    instances.start(own('nowhere'), { signal }),
    isReason('NOT_READY', /No node of the cluster is in the region AUS-SE/),
  )
  await assert.rejects(
    instances.start({ ...own('imageless'), build: 'missing' }, { signal }),
    isReason('IMAGE_REGISTRY_FAILED', /could not get the image/),
  )
  await until(async () => (await services()).length === 0, 'all services are gone')
})

test('a leader that is killed during a start is replaced, and nothing is done twice', { skip }, async () => {
  const { instances, edge, sql } = first()
  const next = await startLeader('two')
  const started = instances.start(own('taken'), { signal })
  await until(async () => (await services()).includes('taken'), 'its service is there')
  await leader.kill()
  await started
  await next.leads()
  await edge.untilTold('taken', 'running')
  assert.equal(await pageOf('taken'), 'hello from taken')
  assert.equal((await services()).length, 1)
  assert.equal((await tasksOf('taken')).length, 1)
  const rows = await sql.query(statement`SELECT instance FROM cluster_instances WHERE deployment = 'taken'`)
  assert.equal(rows.length, 1)

  // What the leader before had begun, the next one ends.
  const retired = instances.retire('taken', { isDrained: true })
  await edge.untilTold('taken', undefined)
  await next.kill()
  const last = await startLeader('three')
  await last.leads()
  await retired
  await until(async () => (await services()).length === 0, 'its service is gone')
  await last.stop()
})
