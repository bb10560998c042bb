/**
 * The least that Node does for a response: bytes that are looked at for nothing but their end, answered with bytes. It checks
 * nothing, keeps to no limit, and would be neither correct nor safe before an app.
 *
 *   hit BYTES          the same page for every request
 *   pass HOST PORT     what an origin answers, by connections that are kept; it must announce lengths
 *   file PATH          a large file, by a buffer that is read and written again and again
 */
import { closeSync, fstatSync, openSync, read } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'

const [kind, ...given] = process.argv.slice(2)

const END = '\r\n\r\n'
const headFor = (length: number): string =>
  `HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: ${length}\r\nCache-Control: s-maxage=3600${END}`

function hit(): (client: Socket) => void {
  const length = Number(given[0])
  const page = Buffer.from(headFor(length) + 'x'.repeat(length))
  return (client) => client.on('data', () => client.write(page))
}

/** A connection to the origin, with the client whose response it is to bring. */
type Upstream = { socket: Socket; client: Socket | undefined; left: number }

const idle: Upstream[] = []

function open(): Upstream {
  const socket = connect({ host: given[0], port: Number(given[1]), noDelay: true })
  const upstream: Upstream = { socket, client: undefined, left: 0 }
  socket.on('data', (chunk) => {
    const { client } = upstream
    if (upstream.left === 0) upstream.left = lengthOf(chunk)
    upstream.left -= chunk.length
    if (upstream.left === 0) {
      upstream.client = undefined
      idle.push(upstream)
    }
    client?.write(chunk)
  })
  return upstream
}

/** Of the whole response, by its first bytes. */
function lengthOf(chunk: Buffer): number {
  const end = chunk.indexOf(END)
  const head = chunk.toString('latin1', 0, end).toLowerCase()
  return end + END.length + Number.parseInt(head.slice(head.indexOf('content-length:') + 15), 10)
}

function pass(client: Socket) {
  client.on('data', (chunk) => {
    const upstream = idle.pop() ?? open()
    upstream.client = client
    upstream.socket.write(chunk)
  })
}

const READ_BYTES = 256 * 1024

function file(client: Socket) {
  client.once('data', () => {
    const descriptor = openSync(given[0] as string, 'r')
    client.once('close', () => closeSync(descriptor))
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
    const next = (error?: Error | null) => {
      if (error) return client.destroy(error)
      read(descriptor, buffer, 0, READ_BYTES, null, (failed, length) => {
        if (failed) return client.destroy(failed)
        if (length === 0) return client.end()
        client.write(buffer.subarray(0, length), next)
      })
    }
    client.write(headFor(fstatSync(descriptor).size), 'latin1', next)
  })
}

const KINDS: Record<string, () => (client: Socket) => void> = { hit, pass: () => pass, file: () => file }

const serve = KINDS[kind ?? '']?.()
if (!serve) throw new Error('hit, pass or file')
const server = createServer({ noDelay: true }, (client) => {
  client.on('error', () => client.destroy())
  serve(client)
})
server.listen({ host: '127.0.0.1', port: 0 }, () => {
  const address = server.address()
  process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' && address ? address.port : 0 })}\n`)
})
process.on('SIGTERM', () => process.exit())
