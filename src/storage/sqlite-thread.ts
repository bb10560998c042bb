/** The thread that owns the SQLite file: one connection that writes, one that reads what is committed. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Row, Value } from './sql.ts'

export type Connection = 'reader' | 'writer'
/** `text` comes with the first call of a statement; after that its number stands for it. */
export type Call = { id: number; connection: Connection; statement: number; text?: string; values: readonly Value[] }
export type Answer = { id: number; rows?: Row[]; error?: { message: string; code: number } }

/** How long to wait for another process (an operator's command, say) that holds the write lock. */
const BUSY_TIMEOUT_MS = 5000

type Open = { database: DatabaseSync; prepared: Map<number, StatementSync> }

if (!parentPort) throw new Error('sqlite-thread.ts is started by sqlite.ts')
const port = parentPort

let connections: Record<Connection, Open> | undefined

const opened = attempt(0, () => {
  const writer = open(false)
  writer.database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  connections = { writer, reader: open(true) }
  return []
})
port.postMessage(JSON.stringify([opened]))
port.on('message', (message: string) => {
  const calls: Call[] = JSON.parse(message)
  port.postMessage(JSON.stringify(calls.map((call) => attempt(call.id, () => run(call)))))
})

function open(readOnly: boolean): Open {
  const database = new DatabaseSync(workerData.file, { readOnly, timeout: BUSY_TIMEOUT_MS })
  return { database, prepared: new Map() }
}

const texts = new Map<number, string>()

function run({ connection, statement: number, text, values }: Call): Row[] {
  if (text !== undefined) texts.set(number, text)
  const known = texts.get(number) ?? ''
  if (!connections) throw new Error('the database is closed')
  if (known === 'CLOSE') return close(connections)
  const { database, prepared } = connections[connection]
  let statement = prepared.get(number)
  if (!statement) {
    statement = database.prepare(known)
    prepared.set(number, statement)
  }
  return statement.all(...values) as Row[]
}

function close({ reader, writer }: Record<Connection, Open>): Row[] {
  connections = undefined
  reader.database.close()
  writer.database.close()
  return []
}

function attempt(id: number, work: () => Row[]): Answer {
  try {
    return { id, rows: work() }
  } catch (error) {
    const { message, errcode = 1 } = error as Error & { errcode?: number }
    return { id, error: { message, code: errcode } }
  }
}
