/**
 * A bounded number of sessions. Reads share a few of them, each with several statements under way; a transaction has one for
 * itself.
 */
import { type Clock, repeat, settlesWithin } from '../../../base/index.ts'
import { StorageUnavailable } from '../sql.ts'
import { createAvailability } from './availability.ts'
import { type Connect, type Session, STATEMENT_TIMEOUT_MS } from './client.ts'

const MAX_READERS = 4
const MAX_WRITERS = 8

/** Beyond so many statements under way, or after so long without an answer, reads use another session. */
const BUSY = { statements: 32, silentMs: 20 }

const WATCH_MS = 500
/** Without an answer for so long, the database is asked whether it is there at all. */
const SILENCE_MS = 2000
/** The server ends a statement before that, so the connection is lost although both sides think otherwise. */
const MAX_SILENCE_MS = STATEMENT_TIMEOUT_MS + 5000

/** A server that does not answer does not hold up the end. */
const CLOSE_MS = 1000

type Parts = {
  clock: Clock
  connect: Connect
  onAway(error: Error): void
  onBack(): void
  /** The server that takes writes is at this place: what was opened elsewhere is of no use any more. */
  onServer(place: string): void
}

/** `isTainted`: a transaction may be open in it, or a lock held. */
export type Lease = { session: Session; isLong: boolean; isTainted: boolean }

export function createPool({ clock, connect, onAway, onBack, onServer }: Parts) {
  const sessions = new Set<Session>()
  const readers: Session[] = []
  const idle: Session[] = []
  const leases = new Set<Lease>()
  const waiting: (() => void)[] = []
  let openingReader: Promise<Session> | undefined
  let writers = 0
  let closed: Error | undefined

  const availability = createAvailability({
    clock,
    async ask() {
      const session = await connect(() => undefined)
      endElsewhere(session.place)
      await session.end()
    },
    onAway(error) {
      for (const session of sessions) session.destroy(error)
      onAway(error)
    },
    onBack,
  })

  /** A server that was replaced may be cut off, and would not say that its sessions are over. */
  function endElsewhere(place: string) {
    for (const session of sessions)
      if (session.place !== place) session.destroy(new Error('another server has taken over'))
    onServer(place)
  }

  async function open(): Promise<Session> {
    try {
      const session: Session = await connect(() => {
        sessions.delete(session)
        availability.doubt()
      })
      sessions.add(session)
      endElsewhere(session.place)
      return session
    } catch (error) {
      availability.doubt()
      throw error
    }
  }

  const watch = repeat(clock, WATCH_MS, async () => {
    const now = performance.now()
    const longOnes = new Set([...leases].filter(({ isLong }) => isLong).map(({ session }) => session))
    for (const session of sessions) {
      const silentMs = now - (session.silentSince() ?? now)
      if (silentMs > SILENCE_MS) availability.doubt()
      if (silentMs > MAX_SILENCE_MS && !longOnes.has(session)) session.destroy(new Error('no answer came'))
    }
  })

  function openReader(): Promise<Session> {
    openingReader ??= open()
      .then((session) => {
        readers.push(session)
        return session
      })
      .finally(() => {
        openingReader = undefined
      })
    return openingReader
  }

  /** Those that are over make place. */
  function forgetOver(list: Session[]) {
    for (let at = list.length - 1; at >= 0; at--) if (list[at]?.isOver()) list.splice(at, 1)
  }

  async function untilThere() {
    if (closed) throw closed
    if (!availability.isThere()) await availability.untilKnown()
  }

  return {
    availability,
    untilThere,

    /** The first session that is not busy: many statements in one session cost less than a few in each. */
    async reader(): Promise<Session> {
      await untilThere()
      forgetOver(readers)
      const [first] = readers
      if (!first) return openReader()
      const free = readers.find((one) => !isBusy(one))
      if (free) return free
      // The next reads use another one; this one does not wait for it, and a failure to open it is noted by `open`.
      if (readers.length < MAX_READERS) openReader().catch(() => undefined)
      let best = first
      for (const one of readers) if (one.pending() < best.pending()) best = one
      return best
    },

    /** A session that the caller has for itself until it gives it back. */
    async take(isLong: boolean): Promise<Lease> {
      while (writers >= MAX_WRITERS && !closed) await new Promise<void>((resolve) => waiting.push(resolve))
      writers += 1
      try {
        await untilThere()
        forgetOver(idle)
        const lease = { session: idle.pop() ?? (await open()), isLong, isTainted: false }
        leases.add(lease)
        return lease
      } catch (error) {
        writers -= 1
        waiting.shift()?.()
        throw error
      }
    },

    give(lease: Lease) {
      const { session } = lease
      leases.delete(lease)
      writers -= 1
      if (lease.isTainted) {
        sessions.delete(session)
        session.discard()
      } else if (!session.isOver()) idle.push(session)
      waiting.shift()?.()
    },

    async close() {
      closed ??= new StorageUnavailable('the database is closed')
      availability.close()
      for (const wake of waiting.splice(0)) wake()
      await watch.stop()
      const ended = Promise.all([...sessions].map((session) => session.end()))
      if (!(await settlesWithin(clock, ended, CLOSE_MS))) for (const session of sessions) session.discard()
    },
  }
}

function isBusy(session: Session): boolean {
  if (session.pending() === 0) return false
  return session.pending() >= BUSY.statements || performance.now() - (session.silentSince() ?? 0) > BUSY.silentMs
}

export type Pool = ReturnType<typeof createPool>
