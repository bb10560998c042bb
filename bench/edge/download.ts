/** A client that takes large responses with little work of its own, and one that takes nothing. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

type From = { url: string; host?: string }

/** The client's work is not measured, but it competes for the processors. */
const READ_BYTES = 1024 * 1024
const END = '\r\n\r\n'

/** The bytes of the body of a 200; the connection is closed with it. */
export async function download(from: From, path: string): Promise<number> {
  let head = ''
  let bytes = 0
  const socket = open(from, (count, buffer) => {
    if (head.endsWith(END)) {
      bytes += count
      return
    }
    const text = head + buffer.toString('latin1', 0, Math.min(count, 16_384))
    const headEnd = text.indexOf(END)
    if (headEnd < 0) {
      head = text
      return
    }
    bytes = count - (headEnd + END.length - head.length)
    head = text.slice(0, headEnd + END.length)
  })
  socket.write(requestFor(from, path))
  await once(socket, 'close')
  if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`${from.url}${path} answered ${head.split('\r\n')[0]}`)
  return bytes
}

/** So many clients that stop to read after the first bytes, a second later: by then the server has written what it can. */
export async function stall(from: From, path: string, count: number): Promise<AsyncDisposable> {
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const { hostname, port } = new URL(from.url)
      const socket = connect({ host: hostname, port: Number(port) })
      socket.write(requestFor(from, path))
      await once(socket, 'readable')
      return socket
    }),
  )
  await wait(1000)
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function open({ url }: From, onBytes: (count: number, buffer: Uint8Array & Buffer) => void): Socket {
  const { hostname, port } = new URL(url)
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  return connect({
    host: hostname,
    port: Number(port),
    onread: {
      buffer,
      callback(count) {
        onBytes(count, buffer)
        return true
      },
    },
  })
}

const requestFor = ({ url, host }: From, path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host ?? new URL(url).host}\r\nConnection: close\r\n\r\n`
