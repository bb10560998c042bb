/** Many environments, of which few are awake: their memory, and what the cluster does while nothing happens. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Result } from '../bench.ts'
import { untilAsleep } from '../client.ts'
import { treeCpuMs } from '../cpu.ts'
import { copyEnvironments } from './copies.ts'
import { clusterMemory, type Memory, machineMemory } from './memory.ts'
import { type Cluster, firstByte, type Side, type Sides, type Site } from './sides.ts'
import { AWAKE, ENVIRONMENTS, IDLE_SECONDS } from './sizes.ts'

/** What a control process reads and tells after its start is not of interest here. */
const SETTLE_MS = 10_000
const WAKES_AT_ONCE = 10
/** Of a minute. */
const MAX_LEADER_SECONDS = 1.5

export async function measureMany({ ours, peer }: Sides): Promise<Result[]> {
  const few = ours.sites.length
  const awakeOnMachine = await awake(peer, peer.sites, () => machineMemory(peer))
  for (const { caller, sites } of [ours, peer])
    await untilAsleep(
      caller,
      sites.map(({ name }) => name),
    )
  const onMachine = machineMemory(peer)
  const perApp = (awakeOnMachine.service + awakeOnMachine.sandboxes - onMachine.service - onMachine.sandboxes) / few

  await wait(SETTLE_MS)
  const idleOfFew = await idle(ours)
  const ofFew = clusterMemory(ours)
  const copies = await copyEnvironments(ours, ENVIRONMENTS - few)
  await wait(SETTLE_MS)
  const idleAsleep = await idle(ours)
  const asleep = clusterMemory(ours)
  const sites = [...ours.sites, ...copies].slice(0, AWAKE)
  const [idleAwake, whileAwake] = await awake(ours, sites, async () => [await idle(ours), clusterMemory(ours)] as const)

  const grown = (of: keyof Memory) => (whileAwake[of] - asleep[of]) / AWAKE
  const kilobytes = (of: keyof Memory) => ((asleep[of] - ofFew[of]) * 1024) / (ENVIRONMENTS - few)
  return [
    {
      what: 'memory of an awake app beside its own process',
      unit: 'MB',
      ours: (['shims', 'proxies', 'docker', 'service', 'postgres'] as const).reduce((sum, of) => sum + grown(of), 0),
      peer: perApp,
      goal: { of: 'ours', max: 8 },
    },
    { what: 'of that, its containerd-shim', unit: 'MB', ours: grown('shims') },
    { what: 'of that, its docker-proxy', unit: 'MB', ours: grown('proxies') },
    { what: 'of that, the engine and containerd', unit: 'MB', ours: grown('docker') },
    { what: 'memory of an environment that sleeps: the leader', unit: 'KB', ours: kilobytes('leader') },
    { what: 'the same: three edges', unit: 'KB', ours: kilobytes('edges') },
    { what: 'the same: PostgreSQL', unit: 'KB', ours: kilobytes('postgres') },
    { what: 'the same: three engines', unit: 'KB', ours: kilobytes('docker') },
    ...rowsOf(`${ENVIRONMENTS} environments that sleep`, idleAsleep, idleOfFew, few),
    ...rowsOf(`${ENVIRONMENTS} environments, ${AWAKE} awake`, idleAwake, idleOfFew, few),
  ]
}

/** All of them are visited before the work and awake during it, without visitors. */
async function awake<T>({ edges }: Side, sites: readonly Site[], work: () => T | Promise<T>): Promise<T> {
  for (const isLast of [false, true]) {
    for (let at = 0; at < sites.length; at += WAKES_AT_ONCE)
      await Promise.all(
        sites
          .slice(at, at + WAKES_AT_ONCE)
          .map((site, each) => firstByte(edges[each % edges.length] as Side['edges'][0], site)),
      )
    // What starts has to settle.
    if (!isLast) await wait(SETTLE_MS / 2)
  }
  return work()
}

type Idle = Record<'leader' | 'control' | 'worker' | 'edges' | 'nodes' | 'docker' | 'postgres' | 'transactions', number>

/** Seconds of CPU in a minute without visitors, and transactions of PostgreSQL in a second. */
async function idle({ whole, controls, edges }: Cluster): Promise<Idle> {
  const { worker, nodeRoles, swarm, shared } = whole
  const roots = {
    leader: [controls[0].pid],
    control: [controls[1].pid],
    worker: [worker.pid],
    edges: edges.map(({ pid }) => pid),
    nodes: nodeRoles.map((role) => role.pid()),
    docker: swarm.nodes.map(({ pid }) => pid),
    postgres: [shared.server.pid()],
  }
  const transactions = async () =>
    Number(await shared.server.psql('SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database'))
  const look = async () => ({
    ...(Object.fromEntries(
      Object.entries(roots).map(([name, pids]) => [name, pids.reduce((sum, pid) => sum + treeCpuMs(pid), 0)]),
    ) as Record<keyof typeof roots, number>),
    transactions: await transactions(),
  })
  const before = await look()
  const began = performance.now()
  await wait(IDLE_SECONDS * 1000)
  const after = await look()
  const seconds = (performance.now() - began) / 1000
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => {
      const used = (value - before[name as keyof Idle]) / seconds
      return [name, name === 'transactions' ? used : (used * 60) / 1000]
    }),
  ) as Idle
}

const NAMES: Readonly<Record<Exclude<keyof Idle, 'transactions'>, string>> = {
  leader: 'the leader',
  control: 'the other control process',
  worker: 'the worker',
  edges: 'three edges',
  nodes: 'the role of three nodes',
  docker: 'three engines, with apps',
  postgres: 'PostgreSQL',
}

function rowsOf(which: string, many: Idle, few: Idle, count: number): Result[] {
  const beside = `${count} that sleep`
  return [
    ...(Object.keys(NAMES) as (keyof typeof NAMES)[]).map((name) => ({
      what: `CPU a minute, ${which}: ${NAMES[name]}`,
      beside,
      unit: 's',
      ours: many[name],
      peer: few[name],
      ...(name === 'leader' ? { goal: { of: 'ours', max: MAX_LEADER_SECONDS } as const } : {}),
    })),
    { what: `transactions, ${which}`, beside, unit: '/s', ours: many.transactions, peer: few.transactions },
  ]
}
