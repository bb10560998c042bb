/**
 * One record of a segment: a header of fixed size, a small text and a body.
 *
 *   0 magic   4 kind   8 bytes of the text   12 bytes of the body   16 checksum of the text   20 of the body   24 of 0…23
 *
 * The header has its own checksum. So records can be walked without their bodies, and a torn end differs from damage: a
 * killed process leaves a prefix of what it wrote, hence a truncated header or a complete header whose record is
 * truncated. A complete header with a wrong checksum is damage.
 */
import { crc32, deflateRawSync } from 'node:zlib'

/**
 * start: identifies the segment and the one before it. put: an object. note: a text that concerns earlier records.
 * large: an object whose body is a separate file, which the record's own body names.
 */
export type Kind = 'start' | 'put' | 'note' | 'large'

export type NewRecord = {
  kind: Kind
  text: string
  /** `Buffer.byteLength(text)`: the caller needs it as well, to reserve space. */
  textBytes: number
  body?: Buffer | undefined
}

export type Header = {
  kind: Kind
  textBytes: number
  bodyBytes: number
  textChecksum: number
  bodyChecksum: number
  /** Of the whole record. */
  bytes: number
}

export const HEADER_BYTES = 28
/** Recovery has one text in memory at a time. */
export const MAX_TEXT_BYTES = 256 * 1024

const MAGIC = 0x31444c48
const KINDS: readonly Kind[] = ['start', 'put', 'note', 'large']
const CHECKED_BYTES = HEADER_BYTES - 4

// zlib detects the processor's CRC instructions only when it first compresses something: the checksum of 10 KiB takes 8
// to 12 µs before this line and 2 µs after it.
deflateRawSync(Buffer.alloc(0))

export function writeRecord(into: Buffer, at: number, { kind, text, textBytes, body }: NewRecord) {
  const textAt = at + HEADER_BYTES
  into.write(text, textAt, textBytes, 'utf8')
  if (body) into.set(body, textAt + textBytes)
  into.writeUInt32LE(MAGIC, at)
  into.writeUInt32LE(KINDS.indexOf(kind), at + 4)
  into.writeUInt32LE(textBytes, at + 8)
  into.writeUInt32LE(body?.length ?? 0, at + 12)
  into.writeUInt32LE(crc32(into.subarray(textAt, textAt + textBytes)), at + 16)
  into.writeUInt32LE(body ? crc32(body) : 0, at + 20)
  into.writeUInt32LE(crc32(into.subarray(at, at + CHECKED_BYTES)), at + CHECKED_BYTES)
}

/** Undefined where there is no valid header. The buffer must contain HEADER_BYTES from `at` on. */
export function readHeader(from: Buffer, at: number): Header | undefined {
  if (from.readUInt32LE(at) !== MAGIC) return undefined
  if (from.readUInt32LE(at + CHECKED_BYTES) !== crc32(from.subarray(at, at + CHECKED_BYTES))) return undefined
  const kind = KINDS[from.readUInt32LE(at + 4)]
  const textBytes = from.readUInt32LE(at + 8)
  const bodyBytes = from.readUInt32LE(at + 12)
  if (!kind || textBytes > MAX_TEXT_BYTES) return undefined
  return {
    kind,
    textBytes,
    bodyBytes,
    textChecksum: from.readUInt32LE(at + 16),
    bodyChecksum: from.readUInt32LE(at + 20),
    bytes: HEADER_BYTES + textBytes + bodyBytes,
  }
}

/** The text of the record at this place; undefined when it is damaged. */
export function readText(from: Buffer, at: number, { textBytes, textChecksum }: Header): string | undefined {
  const text = from.subarray(at + HEADER_BYTES, at + HEADER_BYTES + textBytes)
  return crc32(text) === textChecksum ? text.toString('utf8') : undefined
}

/** The body of the record at this place, not copied; undefined when it is damaged. */
export function readBody(from: Buffer, at: number, { textBytes, bodyBytes, bodyChecksum }: Header): Buffer | undefined {
  const start = at + HEADER_BYTES + textBytes
  const body = from.subarray(start, start + bodyBytes)
  return body.length === bodyBytes && (bodyBytes === 0 ? 0 : crc32(body)) === bodyChecksum ? body : undefined
}
