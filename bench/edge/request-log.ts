/** What the request log costs: a hit with it, beside one without it. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench } from '../bench.ts'
import { inTurns, TURNS } from '../rounds.ts'
import { temporaryFolder } from '../service.ts'
import { startEdgeBefore, startOrigin } from './edge.ts'

const PAGE_BYTES = 10 * 1024

export const edgeRequestLog: Bench = {
  name: 'edge-request-log',
  what: 'a page of 10 KiB that is in the cache, by 64 connections, while requests are recorded, beside the same without',
  noise: TURNS,
  async run() {
    await using folder = await temporaryFolder()
    const [one, other] = [join(folder.path, 'one'), join(folder.path, 'other')]
    await Promise.all([mkdir(one), mkdir(other)])
    await using origin = await startOrigin(PAGE_BYTES)
    await using recording = await startEdgeBefore(one, origin)
    await using silent = await startEdgeBefore(other, origin, { recordsRequests: false })
    const costs = await inTurns({ recording, silent }, { rounds: 9 })
    return [
      {
        what: 'CPU per hit',
        beside: 'without the request log',
        unit: 'µs',
        ours: costs.recording.cpuMicrosecondsPerRequest,
        peer: costs.silent.cpuMicrosecondsPerRequest,
        goal: { of: 'ratio', max: 1.02 },
      },
    ]
  },
}
