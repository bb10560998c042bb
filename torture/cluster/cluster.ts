/**
 * A whole cluster under torture: three machines with Docker, two control processes, a worker, two edges, PostgreSQL, an object
 * store and a registry for images. Any control process may get a call, and any edge a visit.
 */
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Scope } from '../../test/support/folder.ts'
import { startProxy } from '../../test/support/postgres/proxy.ts'
import type { Login } from '../../test/support/service/service.ts'
import { REGIONS, startWhole } from '../../test/support/swarm/whole.ts'
import { until } from '../../test/support/until.ts'
import type { Violation } from '../journal.ts'
import { leftWhenStopped } from '../machine/leftovers.ts'
import { IN_A_CLUSTER } from '../plan.ts'
import { createRandom } from '../random.ts'
import { type CallOptions, type Reply, type System, send } from '../system.ts'
import type { World } from '../world.ts'
import { createClusterFaults } from './faults.ts'
import { leftInCluster } from './leftovers.ts'
import { createMember } from './member.ts'

/** Tenants of a cluster that shares one machine with all of it are slower, or nothing would get done. */
const PACE = 3
/** A node that is back takes part again after some heartbeats. */
const AFTERMATH_MS = 15_000
const GUARD_MS = 200
const SETTLE_MS = 3000

type Given = { accounts: readonly string[]; seed: number }

export type Cluster = Awaited<ReturnType<typeof startMembers>>

/** The scope has to end things in reverse. */
export async function openCluster(t: Scope, world: World, { accounts, seed }: Given): Promise<System> {
  const cluster = await startMembers(t, world)
  const { whole, controls, worker, edges, members } = cluster
  const { server, settings } = whole.shared
  const random = createRandom(seed, 'ways')
  const violations: Violation[] = []
  const quiet = new Map<number, number>()
  const logins = new Map<string, Login>()
  for (const account of accounts) {
    await controls[0].service().operator('accounts', 'create', account)
    logins.set(account, await controls[0].service().login('owner', account))
  }

  function authorization(account: string): string {
    const { userId, password } = logins.get(account) as Login
    return `Basic ${btoa(`${userId}:${password}`)}`
  }

  /** As a load balancer does: where one refuses the connection, another one is tried. */
  async function call(account: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const first = random.below(controls.length)
    const sendTo = (at: number) => send(`${controls[at]?.service().api}${path}`, authorization(account), options)
    const reply = await sendTo(first)
    return reply.fate === 'never sent' ? sendTo(controls.length - 1 - first) : reply
  }

  return {
    api: () => controls[random.below(controls.length)]?.service().api as string,
    call,
    authorization,
    edges: () => edges.map((edge) => edge.service().edge),
    nextEdge: () => random.below(edges.length),
    regionOf: (slot) => REGIONS[(slot * 2) % REGIONS.length] as string,
    isQuiet: (slot) => (quiet.get(slot) ?? 0) > 0,
    pace: PACE,
    plan: IN_A_CLUSTER,
    aftermathMs: AFTERMATH_MS,
    faultOf: createClusterFaults(cluster, world, quiet),

    async guard(signal) {
      while (!signal.aborted) {
        await wait(GUARD_MS, undefined, { signal }).catch(() => undefined)
        for (const member of members) {
          if (!member.hasEnded()) continue
          const { name: about } = member
          violations.push({ what: `it ended by itself: ${member.service().log().slice(-3000)}`, about })
          await member.lose(0)
        }
      }
    },
    violations,
    restarts: () => members.reduce((sum, { restarts }) => sum + restarts(), 0),

    async settle() {
      const isReady = async (url: string) => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200
      for (const control of controls) await until(() => isReady(control.service().api), 'a control process is ready')
      await until(cluster.leader, 'one leads')
      await until(async () => {
        const nodes = await whole.swarm.docker.nodes()
        return nodes.every(({ Status }) => Status.State === 'ready')
      }, 'all nodes are ready')
      await wait(SETTLE_MS)
    },

    leftWhenQuiet: (found) => leftInCluster(cluster, found),

    async stop() {
      const wrong: Violation[] = []
      for (const member of [...edges, worker, ...controls]) {
        const { api, edge, dataDir } = member.service()
        const exitCode = await member.stop()
        const about = member.name
        if (exitCode !== 0) wrong.push({ what: `it stopped with exit code ${exitCode}`, about })
        const left = await leftWhenStopped(dataDir, member === worker ? [] : edges.includes(member) ? [edge] : [api])
        wrong.push(...left.map((what) => ({ what: `left over when it has stopped: ${what}`, about })))
      }
      return wrong
    },

    log: () => members.map((member) => `--- ${member.name}\n${member.log()}`).join('\n'),
    async keep(given) {
      const file = join(tmpdir(), `headland-torture-${given}.sql`)
      await writeFile(file, await server.dump(settings.HEADLAND_DATABASE_URL as string))
      return file
    },
    forget: async () => undefined,
  }
}

async function startMembers(t: Scope, world: World) {
  const proxies = new Map<string, Awaited<ReturnType<typeof startProxy>>[]>()
  const whole = await startWhole(t, {
    settings: {
      HEADLAND_ALLOWED_NETWORKS: world.allowed,
      HEADLAND_DISK_RESERVE: '0',
      HEADLAND_IDLE_TIMEOUT: '5',
      HEADLAND_INSTALL_TIMEOUT: '60',
      HEADLAND_BUILD_TIMEOUT: '40',
      HEADLAND_START_TIMEOUT: '60',
      HEADLAND_WEBHOOK_GUESSES: '100000',
    },
    async wayToControl(edge, address) {
      const proxy = await startProxy(t, `http://${address}`)
      proxies.set(edge, [...(proxies.get(edge) ?? []), proxy])
      return `127.0.0.1:${new URL(proxy.url).port}`
    },
  })
  const controls = whole.controls.map((service, at) =>
    createMember(`control process ${at + 1}`, service, (dataDir) => whole.startControl(at, dataDir)),
  ) as [ReturnType<typeof createMember>, ReturnType<typeof createMember>]
  const worker = createMember('the worker', whole.worker, whole.startWorker)
  const edges = whole.edges.map((service, at) =>
    createMember(`edge ${at + 1}`, service, (dataDir) => whole.startEdge(`edge-${at + 1}`, dataDir)),
  )

  return {
    whole,
    controls,
    worker,
    edges,
    members: [...controls, worker, ...edges],
    /** The control process that leads; undefined where none does at the moment. */
    async leader() {
      for (const control of controls) {
        const signal = AbortSignal.timeout(2000)
        const metrics = await fetch(`${control.service().api}/metrics`, { signal }).then(
          (response) => response.text(),
          () => '',
        )
        if (/^headland_leader 1$/m.test(metrics)) return control
      }
      return undefined
    },
    /** Between an edge and all control processes nothing arrives any more. */
    cutOff: (edge: number) => proxies.get(`edge-${edge + 1}`)?.forEach((proxy) => void proxy.cut()),
    mend: (edge: number) => proxies.get(`edge-${edge + 1}`)?.forEach((proxy) => void proxy.mend()),
  }
}
