/** How much of the public suite of cache behaviour the edge passes, beside the caches that people use. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fetchCacheSuite, startCacheSuite, type Tally, tallyOf } from '../../test/support/edge/cache-suite.ts'
import type { Bench, Result } from '../bench.ts'
import { temporaryFolder } from '../service.ts'
import { startEdgeBefore } from './edge.ts'
import { type Origin, PEERS, type Peer } from './other-caches.ts'

/** A bench for each peer, since a machine may not have all of them. */
export const edgeConformance: readonly Bench[] = PEERS.map((peer) => ({
  name: `edge-conformance-${peer.name.toLowerCase().replaceAll(' ', '-')}`,
  what: `the public suite of cache behaviour, beside ${peer.name} as the suite itself sets it up`,
  noise: 'counts what is right, and measures no time',
  run: () => beside(peer),
}))

async function beside(peer: Peer): Promise<Result[]> {
  await using folder = await temporaryFolder()
  const suite = await fetchCacheSuite(folder.path)
  const place = async (name: string) => {
    const path = join(folder.path, name)
    await mkdir(path)
    return path
  }
  const [ourFolder, peerFolder] = [await place('ours'), await place('peer')]
  // The peer first: if it is not installed, the rest is skipped.
  const theirs = await tally(suite, (origin) => peer.start(peerFolder, origin))
  const ours = await tally(suite, (origin) => startEdgeBefore(ourFolder, origin))
  const version = await peer.version()
  const passed = ({ required, optimal }: Tally) => required.passed + optimal.passed
  return [
    {
      what: `required and optimal tests passed, of ${ours.required.of + ours.optimal.of}, beside ${peer.name} ${version}`,
      unit: '',
      ours: passed(ours),
      peer: passed(theirs),
      goal: { of: 'ratio', min: 1 },
    },
    {
      what: `required tests passed, of ${ours.required.of}`,
      unit: '',
      ours: ours.required.passed,
      peer: theirs.required.passed,
      goal: { of: 'ratio', min: 1 },
    },
    {
      what: `optimal tests passed, of ${ours.optimal.of}`,
      unit: '',
      ours: ours.optimal.passed,
      peer: theirs.optimal.passed,
    },
  ]
}

type Start = (origin: Origin) => Promise<AsyncDisposable & { url: string }>

async function tally(suiteFolder: string, start: Start): Promise<Tally> {
  await using suite = await startCacheSuite(suiteFolder)
  await using cache = await start(suite.origin)
  return tallyOf(await suite.run(cache.url))
}
