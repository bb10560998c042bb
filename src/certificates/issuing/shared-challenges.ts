/**
 * Challenges at the edges of several control processes. The leader, which deals with the CA, writes them to the database; each
 * process gives them to its own edges, and records that it has. A CA may come in at any edge.
 */
import { type Changes, type Clock, type Log, pollUntil } from '../../base/index.ts'
import type { EdgeTls } from '../../edge/index.ts'
import { HINT, HINTS, type SharedChallengeRecords } from '../store/shared-challenges.ts'

type Parts = {
  clock: Clock
  log: Log
  changes: Pick<Changes, 'follow'>
  records: SharedChallengeRecords
  /** To the edges of this process. */
  edgeTls: Pick<EdgeTls, 'setChallenges'>
  /** The name of this process. */
  control: string
  /** Of all control processes that have edges. */
  controls(): Promise<readonly string[]>
}

/** Without a hint. */
const LOOK_MS = 1000
/** A process that does not confirm within this time is not waited for, as an edge is not. */
const CONFIRMED = { pauseMs: 50, timeoutMs: 10_000 }

export function createSharedChallenges({ clock, log, changes, records, edgeTls, control, controls }: Parts) {
  let applied = 0

  async function look() {
    const row = await records.read()
    if (!row || row.revision === applied) return
    await edgeTls.setChallenges(records.open(row))
    await records.confirm(control, row.revision)
    applied = row.revision
  }

  const stopping = new AbortController()
  let pause = new AbortController()
  const hurry = () => pause.abort()

  async function follow() {
    while (!stopping.signal.aborted) {
      pause = new AbortController()
      await look().catch((error) => log.warn({ err: error }, 'the edges of this process may lack challenges of a CA'))
      await clock.sleep(LOOK_MS, AbortSignal.any([pause.signal, stopping.signal]))
    }
  }
  const following = follow()
  const unfollow = changes.follow(HINTS, (name) => {
    if (name === undefined || name === HINT) hurry()
  })

  async function areConfirmed(revision: number): Promise<boolean> {
    const [there, confirmations] = await Promise.all([controls(), records.confirmations()])
    const done = new Set(confirmations.flatMap((row) => (row.revision >= revision ? row.control : [])))
    const isAll = [control, ...there].every((one) => done.has(one))
    if (isAll) await records.forget([...done].filter((one) => one !== control && !there.includes(one)))
    return isAll
  }

  return {
    /** For the leader alone. Resolves when the edges of every control process answer them. */
    async setChallenges(next: Parameters<EdgeTls['setChallenges']>[0]): Promise<void> {
      const revision = await records.replace(next)
      hurry()
      await pollUntil(clock, () => areConfirmed(revision), CONFIRMED)
    },
    async stop() {
      unfollow()
      stopping.abort()
      await following
    },
  }
}

export type SharedChallenges = ReturnType<typeof createSharedChallenges>
