/** From an upload until every edge sends visitors to it: new environments with servers that have no packages. */
import { zipOf } from '../../test/support/zip.ts'
import { median, type Result } from '../bench.ts'
import { createEnvironment, deploy } from '../client.ts'
import { APP, cpuOf, type Sides, server } from './sides.ts'
import { DEPLOYS } from './sizes.ts'

export async function measureDeploys({ ours, peer }: Sides): Promise<Result[]> {
  const figures = new Map([ours, peer].map((side) => [side, { ms: [] as number[], cpu: [] as number[] }]))
  for (let round = 0; round < DEPLOYS; round++)
    for (const [side, { ms, cpu }] of figures) {
      const site = await createEnvironment(side.caller, APP)
      const before = { cpu: cpuOf(side), time: performance.now() }
      await deploy(side.caller, site.name, zipOf(server(`round ${round}`)))
      ms.push(performance.now() - before.time)
      cpu.push(cpuOf(side) - before.cpu)
      side.sites.push(site)
    }
  const of = (side: object, figure: 'ms' | 'cpu') =>
    median([...figures].find(([one]) => one === side)?.[1][figure] ?? [])
  return [
    { what: 'a deploy', unit: 'ms', ours: of(ours, 'ms'), peer: of(peer, 'ms') },
    {
      what: 'CPU of a deploy, of all machines and the app',
      unit: 'ms',
      ours: of(ours, 'cpu'),
      peer: of(peer, 'cpu'),
      goal: { of: 'ratio', max: 2.5 },
    },
  ]
}
