/**
 * SQLite behind `Sql`. The database is opened in a thread of its own, so that an fsync never blocks the event loop.
 * Calls of one turn of the loop are sent to the thread in one message and answered in one: with many requests at a
 * time, a query costs a fraction of a message. Messages are JSON, which costs less than cloning small objects.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { isDiskFull } from './faults.ts'
import { type Row, type Sql, type Statement, StorageUnavailable, type Transaction } from './sql.ts'
import type { Connection, QueryRequest, QueryResponse } from './sqlite-messages.ts'

type Pending = { resolve(rows: Row[]): void; reject(error: Error): void }

/** SQLite's primary result codes for "not now": BUSY, LOCKED, IOERR, FULL, CANTOPEN. */
const UNAVAILABLE = new Set([5, 6, 10, 13, 14])

type Options = {
  /** The thread is gone, and every further query fails. The process should end. */
  onDeath?: ((error: Error) => void) | undefined
  /** The disk is full. Returns whether it freed some space, so that the transaction is worth another attempt. */
  onFull?: () => boolean
  /** Called with the changes of a transaction, once it is committed. */
  onChange?: (accountId: string, name: string) => void
  /** How long to wait for another process (an operator's command, say) that holds the write lock. */
  timeoutMs?: number
}

export function openSqlite(file: string, options: Options = {}): Promise<Sql> {
  return connect(startThread({ file, timeoutMs: options.timeoutMs ?? TIMEOUT_MS }), options)
}

/**
 * Opens an untrusted file in a process of its own, which the signal kills even in the middle of a query. Later queries
 * reject with the signal's reason.
 */
export function openSqliteApart(file: string, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<Sql> {
  signal?.throwIfAborted()
  return connect(startProcess({ file, timeoutMs: TIMEOUT_MS, isForeign: true }, signal), {})
}

const TIMEOUT_MS = 5000

/** The thread or process that owns the file, and a channel for text to it. */
type Owner = {
  post(text: string): void
  onMessage(listener: (text: string) => void): void
  onDeath(listener: (error: Error) => void): void
  end(): Promise<unknown>
}

type Start = { file: string; timeoutMs: number; isForeign?: boolean }

function startThread(workerData: Start): Owner {
  const thread = new Worker(new URL('./sqlite-thread.mjs', import.meta.url), { workerData })
  return {
    post: (text) => thread.postMessage(text),
    onMessage: (listener) => thread.on('message', listener),
    onDeath: (listener) =>
      thread.once('error', (error) =>
        listener(new StorageUnavailable(`the database thread died: ${error.message}`, { cause: error })),
      ),
    end: () => thread.terminate(),
  }
}

function startProcess(start: Start, signal: AbortSignal | undefined): Owner {
  const program = fileURLToPath(new URL('./sqlite-apart.mjs', import.meta.url))
  const child = fork(program, [JSON.stringify(start)], { execArgv: [], env: {} })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = () => child.kill('SIGKILL')
  signal?.addEventListener('abort', kill, { once: true })
  return {
    // A killed process cannot be written to, and its exit answers every query.
    post: (text) => child.send(text, () => undefined),
    onMessage: (listener) => child.on('message', listener),
    onDeath(listener) {
      child.once('error', (error) => listener(new StorageUnavailable('SQLite could not be started', { cause: error })))
      child.once('exit', (code, by) => {
        signal?.removeEventListener('abort', kill)
        listener(signal?.aborted ? signal.reason : new StorageUnavailable(`SQLite ended with ${code ?? by}`))
      })
    },
    end() {
      kill()
      return gone
    },
  }
}

async function connect(
  owner: Owner,
  { onDeath = () => undefined, onFull = () => false, onChange = () => undefined }: Options,
): Promise<Sql> {
  const pending = new Map<number, Pending>()
  const numbers = new Map<string, number>()
  const sentTexts = new Set<number>()
  const questions = new Map<string, Promise<Row[]>>()
  let outbox: QueryRequest[] = []
  let nextId = 1
  let closed: Error | undefined
  let lastTransaction: Promise<unknown> = Promise.resolve()

  function fail(error: Error) {
    closed = error
    for (const call of pending.values()) call.reject(error)
    pending.clear()
  }

  const opened = new Promise<void>((resolve, reject) => {
    let isFirst = true
    owner.onMessage((message) => {
      if (!isFirst) return settle(message)
      isFirst = false
      const refused = (JSON.parse(message) as QueryResponse[])[0]?.error
      if (!refused) return resolve()
      reject(toError(refused))
      owner.end()
    })
    owner.onDeath((error) => {
      reject(error)
      if (closed) return
      fail(error)
      onDeath(error)
    })
  })

  function settle(message: string) {
    for (const { id, rows, error } of JSON.parse(message) as QueryResponse[]) {
      const call = pending.get(id)
      pending.delete(id)
      if (error) call?.reject(toError(error))
      else call?.resolve(rows as Row[])
    }
  }

  function send<R extends Row>(connection: Connection, text: string, values: QueryRequest['values']): Promise<R[]> {
    if (closed) return Promise.reject(closed)
    const id = nextId++
    if (outbox.length === 0) setImmediate(flush)
    outbox.push({ id, connection, ...known(text), values })
    return new Promise((resolve, reject) => pending.set(id, { resolve: resolve as Pending['resolve'], reject }))
  }

  /** Identical reads in one turn of the loop are sent once: many requests come with the same credentials. */
  function read<R extends Row>(text: string, values: QueryRequest['values']): Promise<R[]> {
    const question = `${numberOf(text)} ${JSON.stringify(values)}`
    const asked = (questions.get(question) as Promise<R[]> | undefined) ?? send<R>('reader', text, values)
    questions.set(question, asked)
    return asked
  }

  /** The text of a statement is sent once; after that, its number is sent instead. */
  function known(text: string): { statement: number; text?: string } {
    const statement = numberOf(text)
    if (sentTexts.has(statement)) return { statement }
    sentTexts.add(statement)
    return { statement, text }
  }

  function numberOf(text: string): number {
    let number = numbers.get(text)
    if (number === undefined) {
      number = numbers.size
      numbers.set(text, number)
    }
    return number
  }

  function flush() {
    const calls = outbox
    outbox = []
    questions.clear()
    if (!closed) owner.post(JSON.stringify(calls))
  }

  async function runTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    let open = true
    const changes: [accountId: string, name: string][] = []
    const tx: Transaction = {
      writes: true,
      notify: (accountId, name) => changes.push([accountId, name]),
      query: (statement) =>
        open
          ? send('writer', render(statement), statement.values)
          : Promise.reject(new Error('a transaction was used after its end')),
    }
    // IMMEDIATE takes the write lock first, so that a transaction that reads and then writes never fails half-way for
    // lack of it. It is sent with the first query of `work`. If it fails, the thread does nothing of what was sent
    // along.
    const begun = send('writer', 'BEGIN IMMEDIATE', [])
    try {
      const [, result] = await Promise.all([begun, work(tx)])
      open = false
      await send('writer', 'COMMIT', [])
      for (const [accountId, name] of changes) onChange(accountId, name)
      return result
    } catch (error) {
      open = false
      if (!closed) await send('writer', 'ROLLBACK', []).catch(ignoreNoTransaction)
      throw error
    }
  }

  await opened

  return {
    query: (statement) => read(render(statement), statement.values),
    transaction(work) {
      const mine = lastTransaction.then(() =>
        runTransaction(work).catch((error) => {
          if (!isDiskFull(error) || !onFull()) throw error
          return runTransaction(work)
        }),
      )
      lastTransaction = mine.catch(() => undefined)
      return mine
    },
    async close() {
      await lastTransaction
      if (closed) return
      await send('writer', 'CLOSE', [])
      fail(new StorageUnavailable('the database is closed'))
      await owner.end()
    },
  }
}

/** The texts of one call site are always the same array, so the joined text is cached by that array. */
const rendered = new WeakMap<readonly string[], string>()
function render({ texts }: Statement): string {
  let text = rendered.get(texts)
  if (text === undefined) {
    text = texts.join('?')
    rendered.set(texts, text)
  }
  return text
}

function toError({ message, code }: { message: string; code: number }): Error {
  return UNAVAILABLE.has(code & 0xff) ? new StorageUnavailable(message) : new Error(`SQLite: ${message}`)
}

/** After some errors, such as a full disk, SQLite has rolled back by itself. */
function ignoreNoTransaction(error: Error) {
  if (!error.message.includes('no transaction is active')) throw error
}
