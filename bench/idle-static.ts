/** What 200 static sites without visitors cost: memory beside a service without sites, and processes. */
import { join } from 'node:path'
import { zipOf } from '../test/support/zip.ts'
import type { Bench } from './bench.ts'
import { createApp, createEnvironment, deploy } from './client.ts'
import { privateMemoryOf, treePids } from './cpu.ts'
import { logIn, startService, temporaryFolder } from './service.ts'

const SITES = 200
const ROUNDS = 3

export const idleStatic: Bench = {
  name: 'idle-static',
  what: `${SITES} idle static environments, beside none`,
  noise: 'memory as the kernel counts it, three starts of each in turns, medians; no time is measured',
  async run() {
    await using folder = await temporaryFolder()
    const [full, none] = [join(folder.path, 'full'), join(folder.path, 'none')]
    await fill(full)
    const memory = { ours: [] as number[], peer: [] as number[] }
    let [ours, peer] = [0, 0]
    for (let round = 0; round < ROUNDS; round++) {
      const empty = await idleCost(none)
      const filled = await idleCost(full)
      memory.peer.push(empty.megabytes)
      memory.ours.push(filled.megabytes)
      ours = filled.processes
      peer = empty.processes
    }
    const min = (values: number[]) => Math.min(...values)
    return [
      { what: 'processes', unit: '', ours, peer, goal: { of: 'ratio', max: 1 } },
      {
        what: 'memory that they cost',
        unit: 'MB',
        ours: min(memory.ours) - min(memory.peer),
        goal: { of: 'ours', max: 20 },
      },
    ]
  },
}

async function fill(dataDir: string) {
  await using service = await startService(dataDir)
  const caller = { api: service.api, headers: await logIn(dataDir) }
  await createApp(caller, 'shop')
  for (let site = 0; site < SITES; site++) {
    const { name } = await createEnvironment(caller, 'shop')
    await deploy(caller, name, zipOf({ 'index.html': `<!doctype html><title>${site}</title>` }))
  }
}

/** Private memory of the service's processes: the program itself is shared, and the same for both. */
async function idleCost(dataDir: string): Promise<{ megabytes: number; processes: number }> {
  await using service = await startService(dataDir)
  await new Promise((resolve) => setTimeout(resolve, 3000))
  const pids = treePids(service.pid)
  return { megabytes: privateMemoryOf(pids), processes: pids.length }
}
