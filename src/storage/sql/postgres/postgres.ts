/**
 * PostgreSQL behind `Sql`. Transactions are serializable and run side by side; one that conflicts with another is run again.
 *
 * After a loss of the connection, reads and transactions that were not being committed are tried again if the database is
 * there; everything else fails with DatabaseAway until it is back.
 */
import {
  type Clock,
  createTurns,
  type DatabaseAddress,
  databaseUrlWithoutPassword,
  systemClock,
} from '../../../base/index.ts'
import { Refused } from '../../../contract/index.ts'
import {
  DatabaseAway,
  type Row,
  type Sql,
  type Statement,
  StorageUnavailable,
  statement,
  type Transaction,
  type TransactionOptions,
} from '../sql.ts'
import { createAnnouncements, type Followers } from './announcements.ts'
import { type Connect, createConnect } from './client.ts'
import { isConflict, isConnectionLost, isRefusal, toStorageError } from './errors.ts'
import { createPool, type Lease } from './pool.ts'
import { createStatements, type Rendered } from './statements.ts'

/** After so many conflicts in a row the caller is told to come later. */
const MAX_ATTEMPTS = 12
const FIRST_PAUSE_MS = 2
const MAX_PAUSE_MS = 100
/** From this attempt on, transactions of this process that conflicted are run one at a time. */
const FIRST_ALONE = 3

/** How many sessions in a row may be lost under one statement or transaction: after a restart of the server, all are. */
const MAX_LOSSES = 4

/** The first number of every advisory lock of Headland in a database; the second says what it is for. */
const LOCKS = 0x4845
const LOCK_OF = { claim: 1, migration: 2, purge: 3, apps: 4 } as const

const BEGIN = statement`BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE`
const COMMIT = statement`COMMIT`
const ROLLBACK = statement`ROLLBACK`
const NO_TIMEOUT = statement`SET LOCAL statement_timeout = 0`

type Options = Partial<Followers> & {
  clock?: Clock
  /** The connection was lost, or is back. */
  onAway?(error: Error): void
  onBack?(): void
}

type Change = readonly [accountId: string, name: string]

/** A conflict that `work` saw, or that the commit met. */
class Conflict extends Error {}

/** The transaction was certainly not committed. */
class LostBeforeCommit extends Error {}

export async function openPostgres(address: DatabaseAddress, options: Options = {}): Promise<Sql> {
  const { clock = systemClock, onChange = ignore, onEverything = ignore, onAway = ignore, onBack = ignore } = options
  const connect = createConnect(address)
  await check(address, connect)
  const render = createStatements()
  const pool = createPool({ clock, connect, onAway, onBack, onServer: (place) => announcements.moveTo(place) })
  const announcements = createAnnouncements({ clock, connect, render, followers: { onChange, onEverything } })
  const inTurn = createTurns()
  const running = new Set<Promise<unknown>>()
  const questions = new Map<string, Promise<Row[]>>()
  let isClosed = false

  async function read(asked: Rendered): Promise<Row[]> {
    for (let losses = 0; ; losses++) {
      try {
        const session = await pool.reader()
        return (await session.query(asked)).rows
      } catch (error) {
        const isFinal = losses === MAX_LOSSES || error instanceof StorageUnavailable || !isConnectionLost(error)
        if (isFinal) throw toStorageError(error)
        await pool.untilThere()
      }
    }
  }

  /** Identical reads in one turn of the loop are sent once: many requests come with the same credentials. */
  function readOnce(asked: Statement): Promise<Row[]> {
    const rendered = render(asked)
    const question = JSON.stringify([rendered.name ?? rendered.text, rendered.values])
    const known = questions.get(question)
    // Each caller has rows of its own, which it may change.
    if (known) return known.then((rows) => rows.map((row) => ({ ...row })))
    if (questions.size === 0) setImmediate(() => questions.clear())
    const answer = read(rendered)
    questions.set(question, answer)
    return answer
  }

  async function attempt<T>(lease: Lease, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { session, isLong } = lease
    const changes: Change[] = []
    let phase: 'open' | 'committing' | 'over' = 'open'
    let hasConflict = false
    let isLost = false
    const ask = (asked: Statement) =>
      session.query(render(asked)).catch((error) => {
        hasConflict ||= isConflict(error)
        isLost ||= isConnectionLost(error)
        throw toStorageError(error)
      })
    const tx: Transaction = {
      writes: true,
      notify: (accountId, name) => void changes.push([accountId, name]),
      query: async <R extends Row>(asked: Statement) => {
        if (phase !== 'open') throw new Error('a transaction was used after its end')
        return (await ask(asked)).rows as R[]
      },
    }
    try {
      // Sent with the first statement of `work`.
      const begun = Promise.all([ask(BEGIN), isLong ? ask(NO_TIMEOUT) : undefined])
      const [, result] = await Promise.all([begun, work(tx)])
      phase = 'committing'
      const { command } = await ask(COMMIT)
      // PostgreSQL answers a COMMIT with ROLLBACK if a statement failed and `work` went on.
      if (command !== 'COMMIT') throw new Error('a statement failed, so the transaction was rolled back')
      for (const [accountId, name] of changes) onChange(accountId, name)
      announcements.announce(changes)
      return result
    } catch (error) {
      const wasCommitting = phase === 'committing'
      phase = 'over'
      if (!wasCommitting && !isLost) await ask(ROLLBACK).catch(() => (lease.isTainted = true))
      if (isLost || session.isOver())
        throw wasCommitting ? new DatabaseAway('the connection was lost during a commit') : new LostBeforeCommit()
      throw hasConflict ? new Conflict() : error
    } finally {
      phase = 'over'
      lease.isTainted ||= isLost
    }
  }

  async function withLock<T>(lease: Lease, lock: number, work: () => Promise<T>): Promise<T> {
    const { session } = lease
    const locking = async (asked: Statement) => {
      try {
        await session.query(render(asked))
      } catch (error) {
        lease.isTainted = true
        throw toStorageError(error)
      }
    }
    // For the session and before the transaction: the snapshot of a serializable transaction is taken by its first
    // statement, and would be older than what the holder before has committed.
    await locking(statement`SELECT pg_advisory_lock(${LOCKS}, ${lock})`)
    try {
      return await work()
    } finally {
      // A session that does not answer is given up, and the lock with it.
      if (!lease.isTainted) await locking(statement`SELECT pg_advisory_unlock(${LOCKS}, ${lock})`).catch(ignore)
    }
  }

  async function once<T>(work: (tx: Transaction) => Promise<T>, options: TransactionOptions): Promise<T> {
    const { exclusive, isLong = false } = options
    const lease = await pool.take(isLong).catch((error) => {
      throw toStorageError(error)
    })
    try {
      return await (exclusive ? withLock(lease, LOCK_OF[exclusive], () => attempt(lease, work)) : attempt(lease, work))
    } finally {
      pool.give(lease)
    }
  }

  async function transact<T>(work: (tx: Transaction) => Promise<T>, options: TransactionOptions): Promise<T> {
    let losses = 0
    for (let attempts = 1, pauseMs = FIRST_PAUSE_MS; ; attempts++) {
      try {
        const run = () => once(work, options)
        return await (attempts < FIRST_ALONE ? run() : inTurn('conflict', run))
      } catch (error) {
        if (error instanceof LostBeforeCommit && losses < MAX_LOSSES) {
          losses += 1
          await pool.untilThere()
          continue
        }
        if (error instanceof LostBeforeCommit) throw new DatabaseAway('the connection was lost')
        if (!(error instanceof Conflict)) throw error
        if (attempts >= MAX_ATTEMPTS) throw new StorageUnavailable('too many transactions change the same rows')
        await clock.sleep(pauseMs * Math.random())
        pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)
      }
    }
  }

  return {
    query: <R extends Row>(asked: Statement) => readOnce(asked) as Promise<R[]>,
    transaction<T>(work: (tx: Transaction) => Promise<T>, options: TransactionOptions = {}) {
      if (isClosed) return Promise.reject(new StorageUnavailable('the database is closed'))
      const { exclusive } = options
      const run = () => transact(work, options)
      // In this process, those that exclude each other wait here, and not each in a session of its own.
      const mine = exclusive ? inTurn(exclusive, run) : run()
      const settled: Promise<unknown> = mine.catch(ignore).finally(() => running.delete(settled))
      running.add(settled)
      return mine
    },
    async close() {
      isClosed = true
      await Promise.all(running)
      await announcements.close()
      await pool.close()
    },
  }
}

/** What no repetition would change is reported at once. */
async function check(address: DatabaseAddress, connect: Connect) {
  const place = databaseUrlWithoutPassword(address)
  try {
    const session = await connect(ignore)
    const { rows } = await session.query({ text: 'SHOW server_encoding', values: [] })
    await session.end()
    if (rows[0]?.server_encoding !== 'UTF8')
      throw new Refused(`The database ${place} has the encoding ${rows[0]?.server_encoding}. Create one with UTF8.`)
  } catch (error) {
    if (error instanceof Refused) throw error
    const { message } = error as Error
    if (isRefusal(error)) throw new Refused(`The database ${place} refuses the connection: ${message}.`)
    throw new DatabaseAway(
      `The database ${place} does not answer: ${message}. Is it running, and is databaseUrl right?`,
    )
  }
}

function ignore() {
  return undefined
}
