/**
 * Lines of all logs that this process writes, a transaction for those of a moment: the first after a pause at once, and then those
 * of each third of a second together. A busy app costs few transactions, and does not hold up the lines of others: each log has one
 * piece in a batch.
 */
import type { Clock } from '../../../base/index.ts'
import { StorageUnavailable } from '../../sql/sql.ts'

/** How long lines are collected after some were written. */
const COLLECT_MS = 300
const MAX_LOGS = 30
const MAX_CHARACTERS = 1024 * 1024

type Pending<Piece, Result> = { piece: Piece; resolve(result: Result): void; reject(error: unknown): void }

type Parts<Piece, Result> = {
  clock: Clock
  /** All of them or none. */
  write(pieces: readonly Piece[]): Promise<Result[]>
}

export function createBatches<Piece extends { name: string; lines: string }, Result>(parts: Parts<Piece, Result>) {
  const { clock, write } = parts
  let turn: PromiseWithResolvers<void> | undefined
  let pending: Pending<Piece, Result>[] = []
  let collecting = new AbortController()
  let lastTime = Number.NEGATIVE_INFINITY
  let isRunning = false

  function begin() {
    if (!isRunning) run()
  }

  async function run() {
    isRunning = true
    while (turn || pending.length > 0) {
      const pauseMs = lastTime + COLLECT_MS - performance.now()
      if (pending.length === 0 && pauseMs > 0) await clock.sleep(pauseMs, collecting.signal)
      collecting = new AbortController()
      // What is added in the same turn of the loop is written together.
      await nextLoop()
      turn?.resolve()
      turn = undefined
      // Those whose turn it is hand over their lines.
      await nextLoop()
      const batch = take()
      if (batch.length === 0) continue
      lastTime = performance.now()
      await settle(batch)
    }
    isRunning = false
  }

  /** One piece of each log: the numbers of the next one depend on it. */
  function take(): Pending<Piece, Result>[] {
    const batch = new Map<string, Pending<Piece, Result>>()
    const later: Pending<Piece, Result>[] = []
    let characters = 0
    for (const one of pending) {
      const { name, lines } = one.piece
      const fits = batch.size < MAX_LOGS && (batch.size === 0 || characters + lines.length <= MAX_CHARACTERS)
      if (!fits || batch.has(name)) later.push(one)
      else {
        batch.set(name, one)
        characters += lines.length
      }
    }
    pending = later
    return [...batch.values()]
  }

  async function settle(batch: readonly Pending<Piece, Result>[]) {
    try {
      const results = await write(batch.map(({ piece }) => piece))
      for (const [at, { resolve }] of batch.entries()) resolve(results[at] as Result)
    } catch (error) {
      // Lines that the database refuses must not keep out those of other logs.
      const isAway = error instanceof StorageUnavailable
      if (isAway || batch.length === 1) for (const { reject } of batch) reject(error)
      else for (const one of batch) await settle([one])
    }
  }

  return {
    /** Resolves when what the caller appends next is written at once. */
    turn(): Promise<void> {
      turn ??= Promise.withResolvers()
      const { promise } = turn
      begin()
      return promise
    },
    /** Those who wait for a turn get it now. */
    hurry: () => collecting.abort(),
    append(piece: Piece): Promise<Result> {
      const { promise, resolve, reject } = Promise.withResolvers<Result>()
      pending.push({ piece, resolve, reject })
      begin()
      return promise
    },
  }
}

export type Batches<Piece extends { name: string; lines: string }, Result> = ReturnType<
  typeof createBatches<Piece, Result>
>

const nextLoop = () => new Promise((resolve) => setImmediate(resolve))
