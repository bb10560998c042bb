/**
 * Purges, with several control processes on one database:
 *
 *   a purge is …   in                             becomes
 *   recorded       the log, with its number       sent, when a control process sees it there: at once, by a hint, or by looking
 *                                                 each second
 *   sent           each control process           confirmed, edge by edge; what an edge misses, its next renewal brings
 *   confirmed      memory, for the edges of the process that made it; rows, for those of others
 *   over           the process that made it       when every edge on record has confirmed it, is without a lease, or is gone
 *
 * A purge takes as long as a lease at most, whatever happens: a renewal that was answered before it was recorded was sent
 * before, and one that is answered later brings it. So no lease without it is left after that time. The rows make it faster: an edge
 * that has confirmed, or is not on record, is not waited for.
 */
import { type Clock, type Log, repeat, shareNext } from '../../base/index.ts'
import type { Purge } from '../cache/index.ts'
import type { EdgeMember } from './member.ts'
import type { NumberedPurge } from './messages.ts'
import type { EdgeRecords, EdgeRow } from './records.ts'
import { withMargin } from './standing.ts'

/** The log is looked at so often, since a hint may be lost. */
const FOLLOW_MS = 1000

/** How often the rows are read while a purge waits for edges of other control processes: the pause grows. */
const PAUSE_MS = { first: 10, max: 250 }

type Parts = {
  clock: Clock
  log: Log
  records: EdgeRecords
  /** The name of this control process. */
  control: string
  leaseMs: number
  /** Monotonic. */
  now(): number
  members: ReadonlyMap<string, EdgeMember>
}

export async function createPurging({ clock, log, records, control, leaseMs, now, members }: Parts) {
  /** The newest purge that was sent to the edges of this process. */
  let sent = await records.lastPurge()
  /** The newest of another control process, which waits for the rows. Those of before this process may be waited for, too. */
  let foreign = sent
  let progress = new AbortController()
  const readRows = shareNext(records.edges)

  function send(purge: NumberedPurge) {
    if (purge.number <= sent) return
    sent = purge.number
    for (const member of members.values()) member.send(purge)
  }

  const follow = shareNext(async () => {
    const missed = await records.purgesSince(sent)
    const before = sent
    if ('purges' in missed) for (const purge of missed.purges) send(purge)
    // The edges purge everything with their next renewal.
    else sent = missed.everythingUntil
    if (sent !== before) foreign = sent
    confirm()
  })
  const tryFollowing = () => follow().catch((error) => log.debug({ err: error }, 'the purges cannot be read'))

  const write = shareNext(async () => {
    const behind = [...members.values()].filter(isBehind)
    if (behind.length === 0) return
    const applied = new Map(behind.map((member) => [member.process, member.applied()]))
    await records.confirm(control, applied)
    for (const member of behind) member.recorded = Math.max(member.recorded, applied.get(member.process) ?? 0)
  })
  const isBehind = (member: EdgeMember) => member.recorded < foreign && member.recorded < member.applied()

  function confirm() {
    // Tried again with the next renewal. The other process waits for the end of the lease at most.
    if ([...members.values()].some(isBehind))
      write().catch((error) => log.debug({ err: error }, 'confirmations of edges cannot be recorded'))
  }

  function progressed() {
    progress.abort()
    progress = new AbortController()
  }

  function isOver(row: EdgeRow, number: number): boolean {
    if (row.control !== control) return row.applied >= number || records.isGone(row.process)
    // One on record that is not known here has been without a lease, and could not be removed.
    return members.get(row.process)?.isSettled(number) ?? true
  }

  async function untilOver(number: number, signal: AbortSignal) {
    const end = now() + withMargin(leaseMs)
    let rows: EdgeRow[] | undefined
    for (let pauseMs = PAUSE_MS.first; now() < end; pauseMs = Math.min(pauseMs * 1.5, PAUSE_MS.max)) {
      const isOwn = rows?.every((row) => row.control === control && members.get(row.process)?.connection())
      const { signal: wake } = progress
      // While the database is away, the end of the leases is waited for.
      if (!isOwn) rows = await readRows().catch(() => rows)
      const open = rows?.filter((row) => !isOver(row, number))
      if (open?.length === 0) return
      signal.throwIfAborted()
      await clock.sleep(pauseMs, AbortSignal.any([wake, signal]))
      signal.throwIfAborted()
    }
  }

  const following = repeat(clock, FOLLOW_MS, tryFollowing)
  const forgetHints = records.onHint((number) => {
    progressed()
    if (number === undefined || number > sent) tryFollowing()
  })

  return {
    /** An edge of this process has confirmed something, or was lost. */
    progressed() {
      progressed()
      confirm()
    },

    /** Resolves when no edge answers a later request with what is purged. */
    async purge(purge: Purge, signal: AbortSignal = new AbortController().signal): Promise<void> {
      const number = await records.addPurge(purge)
      // In the order of their numbers: one of another process may be missing here.
      if (number === sent + 1) send({ number, purge })
      else if (number > sent) tryFollowing()
      await untilOver(number, signal)
    },

    async stop() {
      forgetHints()
      await following.stop()
    },
  }
}
