/**
 * Sends raw bytes over a connection and reads the responses: for requests that no HTTP client library would send
 * unchanged.
 */
import { connect, type Socket } from 'node:net'
import { TIMEOUT_MS } from '../until.ts'

export type RawAnswer = {
  status: number
  /** The status line and the headers as received. */
  head: string
  header(name: string): string | undefined
  body: string
}

export type RawConnection = {
  socket: Socket
  send(bytes: string | Buffer): void
  /**
   * The next response that is not interim (1xx). The caller says whether it answers a HEAD, since such a response has
   * no body.
   */
  answer(to?: { head?: boolean }): Promise<RawAnswer>
  /** How many interim responses came before those that were read. */
  interim(): number
  /** Resolves when the other side has closed. */
  closed(): Promise<void>
  isClosed(): boolean
  end(): void
}

/** To a server by its address, as in `http://127.0.0.1:8080`. */
export function openRaw(address: string): RawConnection {
  const { hostname, port } = new URL(address)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  let received = Buffer.alloc(0)
  let [isClosed, interim] = [false, 0]
  let change = Promise.withResolvers<void>()

  function changed() {
    change.resolve()
    change = Promise.withResolvers()
  }
  function close() {
    isClosed = true
    changed()
  }
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    changed()
  })
  // A reset closes the connection as well; what was received before it is kept.
  socket.on('error', close)
  socket.on('end', close)
  socket.on('close', close)

  async function untilThere<T>(what: string, look: () => T | undefined): Promise<T> {
    const late = new Error(
      `${what} did not come; what came was ${JSON.stringify(received.toString('latin1').slice(0, 500))}`,
    )
    const deadline = performance.now() + TIMEOUT_MS
    for (;;) {
      const next = change.promise
      const found = look()
      if (found !== undefined) return found
      const leftMs = deadline - performance.now()
      if (leftMs <= 0) throw late
      let timer: NodeJS.Timeout | undefined
      await Promise.race([next, new Promise((resolve) => (timer = setTimeout(resolve, leftMs)))])
      clearTimeout(timer)
    }
  }

  function take(isHead: boolean): RawAnswer | undefined {
    for (;;) {
      const end = received.indexOf('\r\n\r\n')
      if (end < 0) {
        if (isClosed) throw new Error(`closed without an answer, after ${JSON.stringify(received.toString('latin1'))}`)
        return undefined
      }
      const head = received.toString('latin1', 0, end)
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1])
      const header = (name: string) => new RegExp(`^${name}: *(.*?)\\r?$`, 'im').exec(head)?.[1]
      if (status < 200) {
        interim++
        received = received.subarray(end + 4)
        continue
      }
      const length = isHead || status === 204 ? 0 : Number(header('content-length') ?? Number.POSITIVE_INFINITY)
      const available = received.length - end - 4
      if (available < length && !(isClosed && length === Number.POSITIVE_INFINITY)) {
        if (isClosed) throw new Error(`the answer broke off: ${received.toString('latin1')}`)
        return undefined
      }
      const body = received.toString('utf8', end + 4, end + 4 + Math.min(length, available))
      received = received.subarray(end + 4 + Math.min(length, available))
      return { status, head, header, body }
    }
  }

  return {
    socket,
    send: (bytes) => void socket.write(bytes),
    answer: ({ head = false } = {}) => untilThere('an answer', () => take(head)),
    interim: () => interim,
    closed: async () => void (await untilThere('the end', () => isClosed || undefined)),
    isClosed: () => isClosed,
    end: () => void socket.destroy(),
  }
}

/** One request and its response. */
export async function sendRaw(address: string, bytes: string | Buffer, to?: { head?: boolean }): Promise<RawAnswer> {
  const connection = openRaw(address)
  try {
    connection.send(bytes)
    return await connection.answer(to)
  } finally {
    connection.end()
  }
}
