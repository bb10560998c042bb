/** As much of the DNS message format as a forwarder needs. Messages come from tenants, so every step is checked. */
import { formatAddress } from '../addresses.ts'

export type Question = { name: string; type: number; end: number }

export const TYPE = { a: 1, aaaa: 28 } as const
export const CODE = { none: 0, malformed: 1, failure: 2, refused: 5 } as const

/** The length of the header. */
export const HEADER = 12

/** The one question of a query; undefined if the message is no query with exactly one. */
export function readQuestion(message: Buffer): Question | undefined {
  if (message.length < HEADER || isReply(message) || message.readUInt16BE(4) !== 1) return undefined
  const labels: string[] = []
  let at = HEADER
  for (;;) {
    const length = message[at]
    if (length === undefined || length > 63) return undefined
    at += 1 + length
    if (length === 0) break
    if (at > message.length || at > HEADER + 255) return undefined
    labels.push(labelOf(message.subarray(at - length, at)))
  }
  if (at + 4 > message.length) return undefined
  return { name: labels.join('.') || '.', type: message.readUInt16BE(at), end: at + 4 }
}

/** A query for the IPv4 addresses of a name; undefined for what is no name. */
export function queryFor(name: string, id: number): Buffer | undefined {
  const labels = name.split('.').map((label) => Buffer.from(label, 'latin1'))
  if (labels.some(({ length }) => length === 0 || length > 63)) return undefined
  const head = Buffer.alloc(HEADER)
  head.writeUInt16BE(id, 0)
  // Recursion is wanted; there is one question.
  head.writeUInt16BE(0x0100, 2)
  head.writeUInt16BE(1, 4)
  const encoded = labels.flatMap((label) => [Buffer.from([label.length]), label])
  return Buffer.concat([head, ...encoded, Buffer.from([0, 0, TYPE.a, 0, 1])])
}

/** Whether a message answers this query: the same number, and the same question. */
export function answers(reply: Buffer, query: Buffer, { end }: Question): boolean {
  return (
    reply.length >= HEADER &&
    isReply(reply) &&
    reply.readUInt16BE(0) === query.readUInt16BE(0) &&
    (reply.readUInt16BE(4) === 0 ||
      reply.subarray(HEADER, end).toString('latin1').toLowerCase() ===
        query.subarray(HEADER, end).toString('latin1').toLowerCase())
  )
}

/** More than any real host has; a message has space for thousands. */
const MAX_ADDRESSES = 64

/** The first IPv4 addresses of an answer. */
export function addressesIn(reply: Buffer): string[] {
  const found: string[] = []
  let at: number | undefined = HEADER
  for (let left = countAt(reply, 4); left > 0 && at !== undefined; left--) {
    const end = afterName(reply, at)
    at = end === undefined ? undefined : end + 4
  }
  for (let left = countAt(reply, 6); left > 0 && at !== undefined && found.length < MAX_ADDRESSES; left--) {
    const end = afterName(reply, at)
    if (end === undefined || end + 10 > reply.length) break
    const [type, length] = [reply.readUInt16BE(end), reply.readUInt16BE(end + 8)]
    const data = end + 10
    if (type === TYPE.a && length === 4 && data + 4 <= reply.length) found.push(formatAddress(reply.readUInt32BE(data)))
    at = data + length
  }
  return found
}

/** A reply without records. */
export function emptyReply(query: Buffer, end: number, code: number): Buffer {
  const reply = Buffer.from(query.subarray(0, end))
  // It is a reply; whether recursion was wanted is repeated, and it is available.
  reply.writeUInt16BE(0x8080 | (query.readUInt16BE(2) & 0x7900) | code, 2)
  reply.writeUInt16BE(end > HEADER ? 1 : 0, 4)
  reply.fill(0, 6, HEADER)
  return reply
}

/** Sites move seldom, but the operator of one that has just moved should not wait. */
const TTL_SECONDS = 5

/** A reply with one IPv4 address for the name of the question. */
export function addressReply(query: Buffer, end: number, address: string): Buffer {
  const head = emptyReply(query, end, CODE.none)
  head.writeUInt16BE(1, 6)
  // The name of the record is a pointer to the name of the question.
  const record = Buffer.from([
    0xc0,
    HEADER,
    0,
    TYPE.a,
    0,
    1,
    0,
    0,
    0,
    TTL_SECONDS,
    0,
    4,
    ...address.split('.').map(Number),
  ])
  return Buffer.concat([head, record])
}

const isReply = (message: Buffer): boolean => ((message[2] ?? 0) & 0x80) !== 0

const countAt = (message: Buffer, at: number): number => (message.length < HEADER ? 0 : message.readUInt16BE(at))

/** The position after a name, which is not read. A compression pointer ends it. */
function afterName(message: Buffer, from: number): number | undefined {
  let at = from
  for (;;) {
    const length = message[at]
    if (length === undefined) return undefined
    if (length >= 0xc0) return at + 2
    if (length > 63) return undefined
    at += 1 + length
    if (length === 0) return at
  }
}

/** Names are shown to people and stored: other characters are escaped as `\DDD`, as in zone files (RFC 1035, 5.1). */
const labelOf = (bytes: Buffer): string =>
  [...bytes]
    .map((byte) =>
      /[\w-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `\\${String(byte).padStart(3, '0')}`,
    )
    .join('')
    .toLowerCase()
