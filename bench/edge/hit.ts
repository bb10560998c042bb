/** What a response from the cache costs, beside common caches: nginx with one worker, and Varnish. */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench, Result } from '../bench.ts'
import { inTurns, TURNS } from '../rounds.ts'
import { temporaryFolder } from '../service.ts'
import { startEdgeBefore, startFloor, startOrigin } from './edge.ts'
import { nginx, type Peer, varnish } from './other-caches.ts'

const PAGE_BYTES = 10 * 1024
/** On a busy machine it takes some time until the code has run often enough to be compiled. */
const WARM_UP = { warmUpSeconds: 8, warmUpRequests: 80_000 }

/** A bench for each peer, since a machine may not have both. */
export const edgeHits: readonly Bench[] = [
  { ...hitsBeside(nginx, 1.4), name: 'edge-hit' },
  { ...hitsBeside(varnish, 1), name: 'edge-hit-varnish' },
]

function hitsBeside(peer: Peer, max?: number): Omit<Bench, 'name'> {
  return {
    what: `a page of 10 KiB that is in the cache, by 64 connections that are kept, beside ${peer.name}`,
    noise: TURNS,
    run: () => compare(peer, max),
  }
}

async function compare(peer: Peer, max: number | undefined): Promise<Result[]> {
  await using folder = await temporaryFolder()
  const peerFolder = join(folder.path, 'peer')
  await mkdir(peerFolder)
  await using origin = await startOrigin(PAGE_BYTES)
  await using theirs = await peer.start(peerFolder, origin)
  await using ours = await startEdgeBefore(folder.path, origin)
  await using floor = await startFloor('hit', String(PAGE_BYTES))
  const costs = await inTurns({ ours, theirs, floor }, WARM_UP)
  // Checked after the rounds: an edge that went to the origin each time would be slow for another reason than the
  // measured one.
  assert.match((await fetch(ours.url)).headers.get('cache-status') ?? '', /hit/, 'the page is in our cache')
  const beside = `${peer.name} ${await peer.version()}`
  return [
    {
      what: 'CPU per hit',
      beside,
      unit: 'µs',
      ours: costs.ours.cpuMicrosecondsPerRequest,
      peer: costs.theirs.cpuMicrosecondsPerRequest,
      ...(max === undefined ? {} : { goal: { of: 'ratio', max } }),
    },
    {
      what: 'CPU per hit, by the least that Node does',
      beside,
      unit: 'µs',
      ours: costs.floor.cpuMicrosecondsPerRequest,
      peer: costs.theirs.cpuMicrosecondsPerRequest,
    },
    { what: 'hits', beside, unit: '/s', ours: costs.ours.requestsPerSecond, peer: costs.theirs.requestsPerSecond },
  ]
}
