/** The state of the installation, its nodes and its processes, in words. */
import type { Shown } from '../../api/live/state.ts'
import type { Cluster } from '../../api/types.ts'
import { counted, duration, number } from '../../components/facts/format.ts'

type Node = Cluster['nodes'][number]
type Worker = Cluster['workers'][number]

/** Beside the title of the page. */
export function overallState({ findings, counts }: Pick<Cluster, 'findings' | 'counts'>): Shown {
  const broken = findings.filter(({ state }) => state === 'broken').length
  if (broken > 0) return { tone: 'bad', word: `${number(broken)} broken` }
  if (counts.findings > 0) return { tone: 'warn', word: `${number(counts.findings)} to look at` }
  return { tone: 'good', word: 'Nothing is wrong' }
}

/** `2 control processes, 3 edges, 1 worker, 4 nodes`; kinds of which there is none are left out. */
export const partsInWords = ({ counts: { controls, edges, workers, nodes } }: Pick<Cluster, 'counts'>): string =>
  [
    controls > 0 ? `${number(controls)} control process${controls === 1 ? '' : 'es'}` : '',
    edges > 0 ? counted(edges, 'edge') : '',
    workers > 0 ? counted(workers, 'worker') : '',
    nodes > 0 ? counted(nodes, 'node') : '',
  ]
    .filter(Boolean)
    .join(', ')

export function nodeState({ state, region, confirmed, version }: Node): Shown {
  if (state === 'down') return { tone: 'bad', word: 'Away' }
  if (state === 'drain') return { tone: 'idle', word: 'Drained' }
  if (state === 'pause') return { tone: 'idle', word: 'Paused' }
  if (region === '' && version === '') return { tone: 'idle', word: 'Not used' }
  if (!confirmed) return { tone: 'bad', word: 'Not confirmed' }
  return state === '' ? { tone: 'busy', word: 'Joining' } : { tone: 'good', word: 'Ready' }
}

export const lagState = (behind: number): Shown =>
  behind === 0
    ? { tone: 'good', word: 'Up to date' }
    : { tone: 'warn', word: `${counted(behind, 'purge')} behind at most` }

/** Several times as long as a worker is silent between two records of it. */
const SILENT_SECONDS = 60

export function workerState({ builds, places, silentSeconds }: Worker): Shown {
  if (silentSeconds > SILENT_SECONDS) return { tone: 'bad', word: `Last seen ${duration(silentSeconds)} ago` }
  if (builds === 0) return { tone: 'idle', word: 'Idle' }
  return {
    tone: 'busy',
    word: places === undefined ? counted(builds, 'build') : `${builds} of ${counted(places, 'build')}`,
  }
}

/** Which part of the memory the instances of a node may use; more than 1 where more is promised than there is. */
export const promisedShare = ({ promisedBytes, memoryBytes }: Pick<Node, 'promisedBytes' | 'memoryBytes'>): number =>
  memoryBytes === 0 ? 0 : promisedBytes / memoryBytes

/** Where a list is longer than what is shown of it. */
export const restWords = (shown: number, all: number): string =>
  all > shown ? `The first ${number(shown)} of ${number(all)}.` : ''

/** `BUILDING` is `building`. */
export const phaseWords = (phase: string): string => phase.toLowerCase().replaceAll('_', ' ')
