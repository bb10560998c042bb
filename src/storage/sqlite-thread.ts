/** The thread that owns the SQLite file: one connection that writes, one that reads what is committed. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Row, Value } from './sql.ts'

export type Connection = 'reader' | 'writer'
export type Call = { id: number; connection: Connection; text: string; values: readonly Value[] }
export type Answer = { id: number; rows?: Row[]; error?: { message: string; code: number } }

/** How long to wait for another process (an operator's command, say) that holds the write lock. */
const BUSY_TIMEOUT_MS = 5000

type Open = { database: DatabaseSync; prepared: Map<string, StatementSync> }

if (!parentPort) throw new Error('sqlite-thread.ts is started by sqlite.ts')
const port = parentPort

let connections: Record<Connection, Open> | undefined

const opened = attempt(0, () => {
  const writer = open(false)
  writer.database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  connections = { writer, reader: open(true) }
  return []
})
port.postMessage([opened])
port.on('message', (calls: Call[]) => port.postMessage(calls.map((call) => attempt(call.id, () => run(call)))))

function open(readOnly: boolean): Open {
  const database = new DatabaseSync(workerData.file, { readOnly, timeout: BUSY_TIMEOUT_MS })
  return { database, prepared: new Map() }
}

function run({ connection, text, values }: Call): Row[] {
  if (!connections) throw new Error('the database is closed')
  if (text === 'CLOSE') return close(connections)
  const { database, prepared } = connections[connection]
  let statement = prepared.get(text)
  if (!statement) {
    statement = database.prepare(text)
    prepared.set(text, statement)
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
