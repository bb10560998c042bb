/** A million stored objects of one environment: the memory of one beside its body, and the time to purge them all. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../bench.ts'
import { end, ready } from '../service.ts'

const OBJECTS = 1_000_000

export const edgePurge: Bench = {
  name: 'edge-purge',
  what: `${OBJECTS} objects of one environment in memory: what each takes, and their purge`,
  noise: 'a process of its own, five purges, medians; memory by the heap after a collection',
  async run() {
    const program = fileURLToPath(new URL('./purge-process.ts', import.meta.url))
    const args = ['--expose-gc', '--max-old-space-size=4096', program, String(OBJECTS)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const { bytesPerObject, purgeMs, purgePathMs, purgeTagMs, longestPauseMs } = await ready(child)
    await end(child)
    return [
      { what: 'purge of everything', unit: 'ms', ours: Number(purgeMs), goal: { of: 'ours', max: 1 } },
      { what: 'purge of a path', unit: 'ms', ours: Number(purgePathMs), goal: { of: 'ours', max: 1 } },
      { what: 'purge of a tag that all have', unit: 'ms', ours: Number(purgeTagMs), goal: { of: 'ours', max: 1 } },
      { what: 'longest pause in the seconds after it', unit: 'ms', ours: Number(longestPauseMs) },
      {
        what: 'memory of an object beside its body',
        unit: 'B',
        ours: Number(bytesPerObject),
        goal: { of: 'ours', max: 1024 },
      },
    ]
  },
}
