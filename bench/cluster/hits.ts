/** A page that is in the cache of an edge: where its routes come from must make no difference. */
import { zipOf } from '../../test/support/zip.ts'
import type { Result } from '../bench.ts'
import { createEnvironment, deploy } from '../client.ts'
import { inTurns, type Loaded } from '../rounds.ts'
import { APP, firstByte, type Side, type Sides, server } from './sides.ts'

const PAGE_BYTES = 10 * 1024

export async function measureHits({ ours, peer }: Sides): Promise<Result[]> {
  const costs = await inTurns({ ours: await loaded(ours), peer: await loaded(peer) })
  return [
    {
      what: 'CPU per hit at an edge',
      unit: 'µs',
      ours: costs.ours.cpuMicrosecondsPerRequest,
      peer: costs.peer.cpuMicrosecondsPerRequest,
      goal: { of: 'ratio', max: 1.1 },
    },
    { what: 'hits at an edge', unit: '/s', ours: costs.ours.requestsPerSecond, peer: costs.peer.requestsPerSecond },
  ]
}

async function loaded({ caller, edges }: Side): Promise<Loaded> {
  const site = await createEnvironment(caller, APP)
  await deploy(caller, site.name, zipOf(server('hits', 'x'.repeat(PAGE_BYTES), 's-maxage=3600')))
  const [edge] = edges as [Side['edges'][0]]
  await firstByte(edge, site)
  return { url: edge.edge, pid: edge.edgePid(), headers: { Host: new URL(site.url).host } }
}
