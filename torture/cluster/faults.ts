/** What can break in a cluster. */
import { killed, oneOf, stopped, worldFaults } from '../faults.ts'
import { type ClusterFault, type FaultAct, SLOTS } from '../plan.ts'
import { groupOf, jobsOf, roleOf, signalTo } from '../processes.ts'
import type { Pause, PreparedFault } from '../system.ts'
import type { World } from '../world.ts'
import type { Cluster } from './cluster.ts'

/** Longer than an app without visitors stays awake. */
const ASLEEP_MS = 9000
/** A machine that is lost is not back at once. */
const LOST_MS = 2500

/** `quiet`: how many faults keep visitors away from a slot. */
export function createClusterFaults(cluster: Cluster, world: World, quiet: Map<number, number>) {
  const { whole, controls, worker, edges } = cluster
  const { nodes } = whole.swarm
  const { server, registry, store } = whole.shared

  const leaderOr = async (which: number) => (await cluster.leader()) ?? controls[which % 2] ?? controls[0]
  const pick = <T>(items: readonly T[], which: number) => items[which % items.length] as T
  /** Stopped, and started again after a while. */
  const away = async (
    service: { stop(): Promise<unknown>; start(): Promise<unknown> },
    pause: () => Promise<unknown>,
  ) => {
    await service.stop()
    await pause()
    await service.start()
  }

  return (act: FaultAct, pause: Pause): PreparedFault => {
    const { kind, forMs, which } = act
    const meanwhile = () => pause(forMs)
    const aMoment = () => pause(Math.min(forMs, LOST_MS))
    const edge = which % edges.length
    const ofEdge = (role: 'edge' | 'files') => [roleOf(pick(edges, which).service().pid, role)]
    const node = pick(nodes, which)
    const ofWorker = (role: 'worker' | 'agent') => [roleOf(worker.service().pid, role)]
    const nodeRole = pick(whole.nodeRoles, which)
    const groups = nodes.map(({ hostname }) => `headland-test-${process.pid}-${hostname}`)

    const faults: Record<ClusterFault, () => PreparedFault> = {
      ...worldFaults(world, act, pause),
      killLeader: () => ({
        spoils: 'nothing',
        run: async () => killed('nothing', [roleOf((await leaderOr(which)).service().pid, 'control')]).run(),
      }),
      killOther: () => ({
        spoils: 'nothing',
        async run() {
          const leader = await leaderOr(which)
          const other = controls.find((control) => control !== leader) ?? controls[0]
          await killed('nothing', [roleOf(other.service().pid, 'control')]).run()
        },
      }),
      loseControl: () => ({
        spoils: 'nothing',
        run: () => pick(controls, which).lose(aMoment),
        detail: `${which % 2}`,
      }),
      stopControl: () => stopped('nothing', [roleOf(pick(controls, which).service().pid, 'control')], meanwhile),
      killWorker: () => killed('nothing', ofWorker('worker')),
      loseWorker: () => ({ spoils: 'nothing', run: () => worker.lose(aMoment) }),
      killAgent: () => killed('builds', ofWorker('agent')),
      killBuild: () => killed('builds', oneOf(jobsOf([groupOf(worker.service().dataDir)], 'torture-build'), which)),
      killEdge: () => killed('nothing', ofEdge('edge')),
      loseEdge: () => ({ spoils: 'nothing', run: () => pick(edges, which).lose(aMoment) }),
      stopEdge: () => stopped('nothing', ofEdge('edge'), meanwhile),
      cutEdge: () => ({
        spoils: 'nothing',
        edge,
        detail: `edge ${edge + 1} for ${forMs} ms`,
        async run() {
          cluster.cutOff(edge)
          await meanwhile()
          cluster.mend(edge)
        },
      }),
      killFiles: () => killed('nothing', ofEdge('files')),
      killApp: () => killed('starts', oneOf(jobsOf(groups, 'torture-app'), which)),
      killNodeRole: () => ({
        spoils: 'nothing',
        async run() {
          await nodeRole.kill()
          await aMoment()
          await nodeRole.start()
        },
      }),
      cutNode: () => ({
        spoils: 'starts',
        detail: `${node.hostname} for ${forMs} ms`,
        async run() {
          await node.unplug()
          await meanwhile()
          await node.plugIn()
        },
      }),
      restartEngine: () => ({ spoils: 'starts', detail: node.hostname, run: () => node.restart('KILL') }),
      restartDatabase: () => ({ spoils: 'nothing', run: () => away(server, aMoment), detail: `${forMs} ms` }),
      stopImages: () => ({ spoils: 'nothing', run: () => away(registry, meanwhile), detail: `${forMs} ms` }),
      stopStore: () => ({
        spoils: 'nothing',
        detail: `${forMs} ms`,
        run: () => away({ stop: store.stop, start: store.startAgain }, meanwhile),
      }),
      reload: () => {
        const pids = [...cluster.members.map((member) => member.service().pid), nodeRole.pid()]
        const pid = pick(pids, which)
        return { spoils: 'nothing', run: async () => pid !== undefined && signalTo(pid, 'SIGHUP') }
      },
      quiet: () => ({
        spoils: 'nothing',
        detail: `slot ${which % SLOTS}`,
        async run() {
          const slot = which % SLOTS
          quiet.set(slot, (quiet.get(slot) ?? 0) + 1)
          await pause(ASLEEP_MS)
          quiet.set(slot, (quiet.get(slot) ?? 0) - 1)
        },
      }),
    }
    return faults[kind as ClusterFault]()
  }
}
