/** The number of instances follows the load of all edges, on a real swarm; an instance that goes loses no request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createChanges, parseDatabaseAddress, systemClock } from '../../../src/base/index.ts'
import { MIGRATIONS, migrate, type Sql } from '../../../src/storage/index.ts'
import { openPostgres } from '../../../src/storage/sql/postgres/postgres.ts'
import { measureApps } from '../../../src/swarm/index.ts'
import type { Scope } from '../../support/folder.ts'
import { LEADING } from '../../support/leading.ts'
import { inReverse } from '../../support/machine/docker-engine.ts'
import { openProcess, request } from '../../support/modules/cluster.ts'
import { startEdgeHere } from '../../support/swarm/edge-here.ts'
import { ownDatabase, sharedImage, sharedSwarm, skip } from '../../support/swarm/shared.ts'
import { until } from '../../support/until.ts'

const HOST = 'site.example'
const CLUSTER = 'scaling'
const MIB = 1024 ** 2
const SCALING = { minInstances: 1, maxInstances: 3, requestsPerInstance: 8 }

/** Two processes of a cluster, of which the first one leads, each with an edge. */
async function open(scope: Scope) {
  const [swarm, image, databaseUrl] = [await sharedSwarm(), await sharedImage(), await ownDatabase()]
  const openOne = async () => {
    const changes = createChanges()
    const sql: Sql = await openPostgres(parseDatabaseAddress(databaseUrl), {
      onChange: changes.notify,
      onEverything: changes.notifyEverything,
    })
    scope.after(() => sql.close())
    await migrate(sql, MIGRATIONS, systemClock.now())
    const scalePace = { busyMs: 1000, calmMs: 2500 }
    const opened = await openProcess(scope, { sql, changes, scalePace, imageOf: async () => image.image })
    return { ...opened, edge: await startEdgeHere(scope, opened.addressFor('e'), { [HOST]: 'app' }) }
  }
  const processes = [await openOne(), await openOne()] as const
  const leading = processes[0].lead({ docker: swarm.docker, cluster: CLUSTER })(LEADING)
  scope.after(() => leading.stop())
  return { swarm, image, processes }
}

test('load brings instances up over two nodes, its end takes them away, and no request fails meanwhile', {
  skip,
}, async (t) => {
  const { swarm, image, processes } = await open(inReverse(t))
  const [{ instances, edge }, other] = processes
  const edges = [edge, other.edge]
  await instances.start(request('app', { argv: image.command, scaling: SCALING }), {
    signal: new AbortController().signal,
  })
  const running = () => instances.of('app')?.running
  const tasks = async () => {
    const all = await swarm.docker.tasks({ name: [`hl-${CLUSTER}-app`] })
    return all.filter(({ Status }) => Status.State === 'running')
  }
  let visits = 0
  const failed: string[] = []
  async function visit(at: number, path: string, expected: string) {
    const answer = await edges[at % edges.length]?.visit(HOST, path)
    visits += 1
    if (answer !== `200 ${expected}`) failed.push(`${path}: ${answer}`)
  }
  async function visitUntil(over: AbortSignal, at: number, ms: number) {
    for (let turn = 0; !over.aborted; turn++) await visit(at, `/slow?${ms}&${at}-${turn}`, 'at last')
  }

  const [constant, load] = [new AbortController(), new AbortController()]
  t.after(() => {
    constant.abort()
    load.abort()
  })
  const visiting = [0, 1].map((at) => visitUntil(constant.signal, at, 1))
  // More than three instances should have, and half of them at an edge of a process that does not lead.
  const loading = Array.from({ length: 28 }, (_, at) => visitUntil(load.signal, at + 2, 300))
  const began = performance.now()
  await until(() => running() === 3, 'three instances answer')
  t.diagnostic(`three instances after ${Math.round(performance.now() - began)} ms`)
  assert.equal(new Set((await tasks()).map(({ NodeID }) => NodeID)).size, 2)

  // As the role of each node does it.
  for (const { id, client } of swarm.nodes) await other.setMemory(id, await measureApps(client))
  const { memoryBytes } = await instances.awake('acme')
  t.diagnostic(`they use ${Math.round(memoryBytes / MIB)} MiB`)
  assert.ok(memoryBytes > 3 * 4 * MIB && memoryBytes < 3 * 256 * MIB)

  load.abort()
  await Promise.all(loading)
  // Of two for each instance, all have one at least: whichever goes has requests in flight.
  const slow = Promise.all([0, 1, 2, 3, 4, 5].map((number) => visit(0, `/slow?9000&${number}`, 'at last')))
  const before = await tasks()
  await until(() => running() === 2, 'one instance less is told to edges')
  const told = performance.now()
  assert.equal((await tasks()).length, 3, 'it goes on while it has a request')
  await slow
  t.diagnostic(`requests in flight ended ${Math.round(performance.now() - told)} ms after edges were told`)
  await until(() => running() === 1, 'one instance is left')
  await until(async () => (await tasks()).length === 1, 'the others have ended')
  const [left] = await tasks()
  t.diagnostic(`of the places ${before.map(({ Slot }) => Slot).join()} is left ${left?.Slot}`)
  await sleep(500)
  constant.abort()
  await Promise.all(visiting)
  t.diagnostic(`${visits} visits`)
  assert.deepEqual(failed, [])
  await instances.retire('app', { isDrained: true })
  await until(async () => (await swarm.docker.services({})).length === 0, 'its service is gone')
})
