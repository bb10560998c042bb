/** What can break on one machine. */
import { killed, oneOf, stopped, worldFaults } from '../faults.ts'
import type { FaultAct, MachineFault } from '../plan.ts'
import { groupOf, jobsOf, roleOf, signalTo } from '../processes.ts'
import type { Pause, PreparedFault } from '../system.ts'
import type { World } from '../world.ts'

const HOUR_MS = 60 * 60_000

type Parts = {
  world: World
  dataDir: string
  /** Of the process that supervises the others. */
  pid(): number
  killAndRestart(): Promise<void>
  fillDisk(): Promise<void>
  freeDisk(): Promise<void>
  moveClock(byMs: number): Promise<void>
}

export function createMachineFaults({ world, dataDir, pid, ...parts }: Parts) {
  const group = groupOf(dataDir)

  return (act: FaultAct, pause: Pause): PreparedFault => {
    const { kind, forMs, hours, which } = act
    const role = (name: Parameters<typeof roleOf>[1]) => [roleOf(pid(), name)]
    const app = () => oneOf(jobsOf([group], 'torture-app'), which)
    const meanwhile = () => pause(forMs)
    const clock = (byHours: number): PreparedFault => ({
      spoils: 'nothing',
      run: () => parts.moveClock(byHours * HOUR_MS),
      detail: `${hours} h`,
    })
    const faults: Record<MachineFault, () => PreparedFault> = {
      ...worldFaults(world, act, pause),
      killService: () => ({ spoils: 'nothing', run: parts.killAndRestart }),
      killControl: () => killed('nothing', role('control')),
      killEdge: () => killed('nothing', role('edge')),
      killAgent: () => killed('starts', role('agent')),
      reload: () => ({ spoils: 'nothing', run: async () => signalTo(pid(), 'SIGHUP') }),
      killBuild: () => killed('builds', oneOf(jobsOf([group], 'torture-build'), which)),
      killApp: () => killed('starts', app()),
      stopControl: () => stopped('nothing', role('control'), meanwhile),
      stopEdge: () => stopped('nothing', role('edge'), meanwhile),
      stopAgent: () => stopped('starts', role('agent'), meanwhile),
      stopApp: () => stopped('starts', app(), meanwhile),
      fillDisk: () => ({
        spoils: 'everything',
        async run() {
          await parts.fillDisk()
          try {
            await pause(forMs)
          } finally {
            await parts.freeDisk()
          }
        },
      }),
      clockForward: () => clock(hours),
      clockBack: () => clock(-hours),
    }
    return faults[kind as MachineFault]()
  }
}
