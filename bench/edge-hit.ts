/** What an answer from the cache costs, beside nginx with a cache and one worker. */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import { startEdgeBefore, startOrigin } from './edge.ts'
import { startNginx } from './nginx.ts'
import { inTurns } from './rounds.ts'
import { temporaryFolder } from './service.ts'

const PAGE_BYTES = 10 * 1024

export const edgeHit: Bench = {
  name: 'edge-hit',
  what: 'a page of 10 KiB that is in the cache, by 64 connections that are kept, beside nginx with proxy_cache',
  async run() {
    await using folder = await temporaryFolder()
    const nginxFolder = join(folder.path, 'nginx')
    await mkdir(nginxFolder)
    await using origin = await startOrigin(PAGE_BYTES)
    await using edge = await startEdgeBefore(folder.path, origin)
    const cached = `location / { proxy_pass http://${origin.host}:${origin.port}; proxy_cache objects; }`
    await using nginx = await startNginx({ folder: nginxFolder, servers: { cached } })

    const { ours, peer } = await inTurns({ ours: edge, peer: nginx })
    // Only now: an edge that asked the origin each time would be slow for another reason than the one that is measured.
    assert.match((await fetch(edge.url)).headers.get('cache-status') ?? '', /hit/, 'the page is in our cache')
    return [
      {
        what: 'CPU per hit',
        unit: 'µs',
        ours: ours.cpuMicrosecondsPerRequest,
        peer: peer.cpuMicrosecondsPerRequest,
        goal: { of: 'ratio', most: 2.5 },
      },
      { what: 'hits', unit: '/s', ours: ours.requestsPerSecond, peer: peer.requestsPerSecond },
    ]
  },
}
