// @ts-check
/**
 * The thread that owns the SQLite file: one connection that writes, one that reads what is committed.
 *
 * JavaScript, since a thread does not share the main thread's cache of compiled code: with TypeScript every start would load
 * a compiler again, 80 ms and 17 MB.
 */
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * @import { Connection, QueryRequest, QueryResponse } from './sqlite-messages.ts'
 * @import { Row } from './sql.ts'
 * @import { StatementSync } from 'node:sqlite'
 * @typedef {{ database: DatabaseSync, prepared: Map<number, StatementSync> }} Open
 */

const BEGIN = 'BEGIN IMMEDIATE'

if (!parentPort) throw new Error('sqlite-thread.mjs is started by sqlite.ts')
const port = parentPort

/** @type {Map<number, string>} Texts of statements by their numbers. */
const texts = new Map()

/** @type {Record<Connection, Open> | undefined} */
let connections

const opened = attempt(0, () => {
  const writer = open(false)
  writer.database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  connections = { writer, reader: open(true) }
  return []
})
port.postMessage(JSON.stringify([opened]))
port.on('message', (/** @type {string} */ message) => {
  /** @type {QueryRequest[]} */
  const calls = JSON.parse(message)
  port.postMessage(JSON.stringify(calls.map((call) => attempt(call.id, () => run(call)))))
})

/**
 * The schema is part of the file: none of its views, triggers or defaults may call functions with side effects, and no
 * statement may write to it directly.
 *
 * @returns {Open}
 */
function open(/** @type {boolean} */ readOnly) {
  const database = new DatabaseSync(workerData.file, { readOnly, timeout: workerData.timeoutMs })
  database.enableDefensive(true)
  database.exec('PRAGMA trusted_schema = OFF')
  if (workerData.isForeign) database.exec('PRAGMA cell_size_check = ON')
  return { database, prepared: new Map() }
}

/** @returns {Row[]} */
function run(/** @type {QueryRequest} */ { connection, statement: number, text, values }) {
  if (text !== undefined) texts.set(number, text)
  const known = texts.get(number) ?? ''
  if (!connections) throw new Error('the database is closed')
  if (known === 'CLOSE') return close(connections)
  const { database, prepared } = connections[connection]
  // Sent along with a BEGIN that failed, or after an error for which SQLite has rolled back by itself: without a
  // transaction it would be committed at once.
  if (connection === 'writer' && known !== BEGIN && !database.isTransaction) throw new Error('no transaction is active')
  let statement = prepared.get(number)
  if (!statement) {
    statement = database.prepare(known)
    prepared.set(number, statement)
  }
  return /** @type {Row[]} */ (statement.all(...values))
}

/** @returns {Row[]} */
function close(/** @type {Record<Connection, Open>} */ { reader, writer }) {
  connections = undefined
  reader.database.close()
  writer.database.close()
  return []
}

/**
 * @param {number} id
 * @param {() => Row[]} work
 * @returns {QueryResponse}
 */
function attempt(id, work) {
  try {
    return { id, rows: work() }
  } catch (error) {
    const { message, errcode = 1 } = /** @type {Error & { errcode?: number }} */ (error)
    return { id, error: { message, code: errcode } }
  }
}
