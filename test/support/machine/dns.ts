/**
 * A DNS server on the loopback with records from the test: addresses and texts (TXT) by name, and names for which it never
 * answers.
 */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import type { Scope } from '../folder.ts'

/** A name may begin with `*`, for all names with one more label that have no records of their own. */
export type Zone = Map<string, readonly string[] | 'silent' | 'failing'>

export type DnsServer = {
  /** `127.0.0.1:port`, as a resolver takes it. */
  address: string
  zone: Zone
  /** TXT records by name. */
  texts: Map<string, readonly string[]>
  /** The names of all queries, repetitions included. */
  asked: string[]
}

export async function startDns(t: Scope, known: Record<string, readonly string[] | 'silent' | 'failing'> = {}) {
  const zone: Zone = new Map(Object.entries(known))
  const texts = new Map<string, readonly string[]>()
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (message: Buffer, from: RemoteInfo) => {
    const { name, type, end } = readQuestion(message)
    asked.push(name)
    const found = zone.get(name) ?? zone.get(name.replace(/^[^.]+/, '*'))
    if (found === 'silent') return
    const text = texts.get(name)
    const answer =
      text && type === TYPE_TXT
        ? toAnswer(message.subarray(0, end), text.map(toText))
        : toAnswer(message.subarray(0, end), recordsOf(type, found), failureOf(text ?? found))
    socket.send(answer, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, zone, texts, asked } satisfies DnsServer
}

const HEADER_BYTES = 12
const [TYPE_A, TYPE_TXT, TYPE_AAAA] = [1, 16, 28]
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

/** The header and the question of RFC 1035, section 4.1, and the records. */
function toAnswer(question: Buffer, records: readonly Buffer[], failure = 0): Buffer {
  const answer = Buffer.from(question)
  answer.writeUInt8(0x81, 2)
  answer.writeUInt8(0x80 | failure, 3)
  answer.writeUInt16BE(records.length, 6)
  answer.writeUInt32BE(0, 8)
  return Buffer.concat([answer, ...records])
}

const failureOf = (found: readonly string[] | 'failing' | undefined): number =>
  found === 'failing' ? SERVFAIL : found === undefined ? NXDOMAIN : 0

/** A record for each address of the type that is asked for. */
function recordsOf(type: number, found: readonly string[] | 'failing' | undefined): Buffer[] {
  const addresses = typeof found === 'object' ? found : []
  return addresses
    .filter((address) => (address.includes(':') ? TYPE_AAAA : TYPE_A) === type)
    .map((address) => toRecord(type, type === TYPE_A ? Buffer.from(address.split('.').map(Number)) : toBytes(address)))
}

const toText = (text: string): Buffer => toRecord(TYPE_TXT, Buffer.from([text.length, ...Buffer.from(text)]))

function toRecord(type: number, bytes: Buffer): Buffer {
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
