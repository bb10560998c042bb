/** One session with PostgreSQL, and how it is opened. */
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { Client, type ClientConfig, Query } from 'pg'
import type { DatabaseAddress, DatabaseHost } from '../../../base/index.ts'
import type { Row } from '../sql.ts'
import { isConnectionLost, isRefusal } from './errors.ts'
import { type Rendered, TYPES } from './statements.ts'

/**
 * How long a connection may take to open. It is counted in steps of this process: where a machine stalls for seconds, a single
 * timer would be over before what came meanwhile is read, and the database would be taken for away.
 */
const CONNECT = { steps: 12, stepMs: 250 }
export const STATEMENT_TIMEOUT_MS = 30_000
const IDLE_IN_TRANSACTION_MS = 60_000
const KEEP_ALIVE_MS = 10_000

export type Answer = { rows: Row[]; command: string }

export type Session = {
  query(asked: Rendered): Promise<Answer>
  /** How many statements have no answer yet. */
  pending(): number
  /** Since when no answer came, although one is expected. Undefined if none is. */
  silentSince(): number | undefined
  isOver(): boolean
  /** Ends it at once; what is pending fails. */
  destroy(reason: Error): void
  /** As `end`, without a word to the server, which rolls back what is open. */
  discard(): void
  end(): Promise<void>
  /** Host and port of its server. */
  place: string
  /** That of the server's process. */
  processId: number
  onNotification(listener: (payload: string, processId: number) => void): void
}

type Parameter = { parameterName: string; parameterValue: string }

/** Opens a session with the server that takes writes. */
export type Connect = (onLost: (error: Error) => void) => Promise<Session>

/**
 * Of several hosts, the one that was right last is tried first, then the others in turn. A replica is passed over, so after a
 * failover the one that was promoted is found.
 */
export function createConnect(address: DatabaseAddress, more: Partial<ClientConfig> = {}): Connect {
  const hosts = [...address.hosts]
  return async (onLost) => {
    const faults: Error[] = []
    for (const host of [...hosts]) {
      try {
        const session = await openSession({ ...clientConfig(address, host), ...more }, onLost)
        hosts.splice(hosts.indexOf(host), 1)
        hosts.unshift(host)
        return session
      } catch (error) {
        faults.push(error as Error)
      }
    }
    throw together(faults)
  }
}

/** What a repetition may change counts more than what it would not: the server that refuses may be a replica by now. */
function together(faults: readonly Error[]): Error {
  const passing = faults.filter((error) => !isRefusal(error))
  if (faults.length === 1 || passing.length === 0) return faults[0] as Error
  return new Error(passing.map(({ message }) => message).join('; '))
}

/** Nothing is left to pg's own defaults, some of which come from the environment. */
function clientConfig(address: DatabaseAddress, { host, port }: DatabaseHost): ClientConfig {
  const { user, password, database } = address
  return {
    user,
    // As a function, it is in no property that an error or a log could show.
    password: () => password,
    host,
    port,
    database,
    ssl: tlsOf(address, host),
    application_name: 'headland',
    pipeline: true,
    types: TYPES,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    // openSession has its own.
    connectionTimeoutMillis: 0,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    // A statement outside of a transaction that writes is refused.
    options: '-c default_transaction_read_only=on',
  }
}

function tlsOf({ tls, caFile, certificateFile, keyFile }: DatabaseAddress, host: string): false | ConnectionOptions {
  if (tls === 'disable' || host.startsWith('/')) return false
  return {
    rejectUnauthorized: tls !== 'require',
    ...(tls === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
    ...(certificateFile === undefined ? {} : { cert: readFileSync(certificateFile) }),
    ...(keyFile === undefined ? {} : { key: readFileSync(keyFile) }),
  }
}

function countSteps(onLate: () => void): () => void {
  let left = CONNECT.steps
  const timer = setInterval(() => {
    left -= 1
    if (left > 0) return
    clearInterval(timer)
    onLate()
  }, CONNECT.stepMs)
  return () => clearInterval(timer)
}

/** Statements are sent without waiting for the answers to those before; they are answered in order. */
async function openSession(config: ClientConfig, onLost: (error: Error) => void): Promise<Session> {
  const client = new Client(config)
  const place = `${config.host}:${config.port}`
  let pending = 0
  let lastAnswer = 0
  let isOpen = false
  let isOver = false
  let isCollecting = false
  let ending: Promise<void> | undefined

  client.on('error', lose)
  client.on('end', () => lose(new Error('the connection was closed')))
  function lose(error: Error) {
    if (isOver) return
    isOver = true
    // One that could not be opened is reported by the rejection below.
    if (isOpen && !ending) onLost(error)
  }
  // The server says it of each session, when it begins.
  let isReplica = false
  client.connection.on('parameterStatus', ({ parameterName, parameterValue }: Parameter) => {
    if (parameterName === 'in_hot_standby') isReplica = parameterValue === 'on'
  })
  const stopCounting = countSteps(() => client.connection.stream.destroy(new Error(`${place} does not answer`)))
  await client.connect().finally(stopCounting)
  if (isReplica) {
    await client.end().catch(() => undefined)
    throw new Error(`${place} is a replica`)
  }
  isOpen = true

  /** What is asked in one turn of the loop is sent in one write. */
  function collectWrites() {
    if (isCollecting) return
    isCollecting = true
    const { stream } = client.connection
    stream.cork()
    setImmediate(() => {
      isCollecting = false
      stream.uncork()
    })
  }

  return {
    query(asked) {
      if (pending === 0) lastAnswer = performance.now()
      pending += 1
      collectWrites()
      return new Promise((resolve, reject) => {
        const query = new Query(asked.text, asked.values, (error: Error | undefined, result: Answer) => {
          pending -= 1
          lastAnswer = performance.now()
          if (!error) return resolve(result)
          // The server says that it ends the session, before it does.
          if (isConnectionLost(error)) lose(error)
          reject(error)
        })
        // Given here, since pg copies an object of options with great effort.
        if (asked.name !== undefined) Object.assign(query, { name: asked.name })
        client.query(query)
      })
    },
    pending: () => pending,
    silentSince: () => (pending > 0 ? lastAnswer : undefined),
    isOver: () => isOver,
    destroy(reason) {
      // pg passes the error on to everything that is pending.
      client.connection.stream.destroy(reason)
    },
    discard() {
      isOver = true
      client.connection.stream.destroy()
    },
    end: () => (ending ??= isOver ? Promise.resolve() : client.end()),
    place,
    processId: (client as unknown as { processID: number }).processID,
    onNotification: (listener) =>
      client.on('notification', ({ payload = '', processId }) => listener(payload, processId)),
  }
}
