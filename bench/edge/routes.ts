/** What a request costs among few environments and among many: finding its environment must not get slower. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench } from '../bench.ts'
import { memoryOf } from '../cpu.ts'
import { inTurns, TURNS } from '../rounds.ts'
import { temporaryFolder } from '../service.ts'
import { hostOf, startEdgeBefore, startOrigin } from './edge.ts'

const FEW = 10
const MANY = 10_000
/** Small, so that routing is as large a part of the measurement as possible. */
const PAGE_BYTES = 100

/** The same few hosts are visited in both: the others only have routes. */
const FEW_HOSTS = `
local at = 0
request = function()
  at = at % ${FEW - 1} + 1
  return wrk.format('GET', '/', { Host = '${hostOf(1).replace('1', "' .. at .. '")}' })
end
`

export const edgeRoutes: Bench = {
  name: 'edge-routes',
  what: `a small page by host name, ${MANY} environments known to the edge, beside ${FEW}`,
  noise: TURNS,
  async run() {
    await using folder = await temporaryFolder()
    const script = join(folder.path, 'few-hosts.lua')
    await writeFile(script, FEW_HOSTS)
    await using origin = await startOrigin(PAGE_BYTES)
    const startAmong = async (environments: number) => {
      const own = join(folder.path, String(environments))
      await mkdir(own)
      return startEdgeBefore(own, origin, { environments })
    }
    await using few = await startAmong(FEW)
    await using many = await startAmong(MANY)

    const idle = { few: memoryOf(few.pid).rssAnon, many: memoryOf(many.pid).rssAnon }
    const cost = await inTurns({ few, many }, { script })
    return [
      {
        what: 'CPU per request',
        unit: 'µs',
        ours: cost.many.cpuMicrosecondsPerRequest,
        peer: cost.few.cpuMicrosecondsPerRequest,
        goal: { of: 'ratio', max: 1.1 },
      },
      { what: 'memory of the edge', unit: 'MB', ours: idle.many, peer: idle.few },
    ]
  },
}
