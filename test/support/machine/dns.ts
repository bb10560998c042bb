/** A DNS server on the loopback with records from the test: addresses by name, and names for which it never answers. */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import type { Scope } from '../folder.ts'

export type Zone = Map<string, readonly string[] | 'silent' | 'failing'>

export type DnsServer = {
  /** `127.0.0.1:port`, as a resolver takes it. */
  address: string
  zone: Zone
  /** The names of all queries, repetitions included. */
  asked: string[]
}

export async function startDns(t: Scope, known: Record<string, readonly string[] | 'silent' | 'failing'> = {}) {
  const zone: Zone = new Map(Object.entries(known))
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (message: Buffer, from: RemoteInfo) => {
    const { name, type, end } = readQuestion(message)
    asked.push(name)
    const found = zone.get(name)
    if (found === 'silent') return
    const answer = toAnswer(message.subarray(0, end), type, found)
    socket.send(answer, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, zone, asked } satisfies DnsServer
}

const HEADER_BYTES = 12
const [TYPE_A, TYPE_AAAA] = [1, 28]
const [SERVFAIL, NXDOMAIN] = [2, 3]

function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

/** The header and the question of RFC 1035, section 4.1, and a record for each address of the type that is asked for. */
function toAnswer(question: Buffer, type: number, found: readonly string[] | 'failing' | undefined): Buffer {
  const addresses = typeof found === 'object' ? found : []
  const fitting = addresses.filter((address) => (address.includes(':') ? TYPE_AAAA : TYPE_A) === type)
  const answer = Buffer.from(question)
  answer.writeUInt8(0x81, 2)
  answer.writeUInt8(0x80 | (found === 'failing' ? SERVFAIL : found === undefined ? NXDOMAIN : 0), 3)
  answer.writeUInt16BE(fitting.length, 6)
  answer.writeUInt32BE(0, 8)
  return Buffer.concat([answer, ...fitting.map((address) => toRecord(address, type))])
}

function toRecord(address: string, type: number): Buffer {
  const bytes = type === TYPE_A ? Buffer.from(address.split('.').map(Number)) : toBytes(address)
  const head = Buffer.alloc(12)
  // A pointer to the name of the question.
  head.writeUInt16BE(0xc000 | HEADER_BYTES, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(60, 6)
  head.writeUInt16BE(bytes.length, 10)
  return Buffer.concat([head, bytes])
}

function toBytes(address: string): Buffer {
  const [left = '', right = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const [first, last] = [groups(left), groups(right)]
  const all = [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}
