/** A cluster of three Docker engines beside one machine with the same apps. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { NEEDS_REGISTRY } from '../../test/support/images/registry.ts'
import { NEEDS_SWARM } from '../../test/support/machine/swarm.ts'
import { HAS_POSTGRES } from '../../test/support/postgres/server.ts'
import { type Bench, IS_QUICK, type Result, Skipped } from '../bench.ts'
import { end, ready } from '../service.ts'
import { AWAKE, ENVIRONMENTS } from './sizes.ts'

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export const cluster: Bench = {
  name: 'cluster',
  what: `a cluster of three nodes and three edges beside one machine: deploys, wakes, purges, hits; and ${ENVIRONMENTS} environments with ${AWAKE} awake`,
  noise:
    'CPU time and memory as the kernel counts them, both in turns, medians; figures in ms are wall-clock time, for a quiet machine only',
  async run() {
    const missing = NEEDS_SWARM.skip || NEEDS_REGISTRY.skip
    if (missing) throw new Skipped(`${missing}; node test/prepare.ts --swarm gets what is needed`)
    if (!HAS_POSTGRES) throw new Skipped('needs PostgreSQL: apt-get install postgresql-15')
    // What the engines bind is in a network of its own, and so is the machine beside them.
    const args = [fileOf('../../test/support/machine/own-network.ts'), process.execPath, fileOf('./measure.ts')]
    const child = spawn(process.execPath, [...args, ...(IS_QUICK ? ['--quick'] : [])], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const { results } = await ready(child)
    await end(child)
    return results as Result[]
  },
}
