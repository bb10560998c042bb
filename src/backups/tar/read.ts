/**
 * Reads a tar strictly: anything that `tar/write` does not write is refused, because attackers use differences between
 * two lenient readers to get past the one that checks.
 */
import { type BackupEntry, broken, type Opaque } from '../entry.ts'
import { BLOCK, checksumOf, headerOf, opaqueKey, padding } from './write.ts'

const KINDS: Record<string, BackupEntry['kind']> = {
  0: 'file',
  1: 'hardlink',
  2: 'symlink',
  3: 'whiteout',
  5: 'folder',
}

/** The maximum size of an extended header: two paths of the longest kind, and a margin. */
const MAX_RECORDS_BYTES = 64 * 1024

export type Bytes = {
  /** Exactly this many bytes; throws if there are fewer. */
  take(count: number): Promise<Buffer>
  /** The same, in the pieces in which they arrive. */
  pieces(count: number): AsyncGenerator<Buffer>
  /** Whether the input has ended. */
  isOver(): Promise<boolean>
}

export function bytesOf(source: AsyncIterable<Uint8Array>): Bytes {
  const iterator = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  async function more(): Promise<boolean> {
    const next = await iterator.next()
    if (next.done) return false
    const { buffer, byteOffset, byteLength } = next.value
    const piece = Buffer.from(buffer, byteOffset, byteLength)
    rest = rest.byteLength === 0 ? piece : Buffer.concat([rest, piece])
    return true
  }
  const cutOff = () => broken('it was cut off')

  return {
    async take(count) {
      while (rest.byteLength < count) if (!(await more())) throw cutOff()
      const taken = rest.subarray(0, count)
      rest = rest.subarray(count)
      return taken
    },
    async *pieces(count) {
      for (let left = count; left > 0; ) {
        if (rest.byteLength === 0 && !(await more())) throw cutOff()
        const piece = rest.subarray(0, left)
        rest = rest.subarray(piece.byteLength)
        left -= piece.byteLength
        if (piece.byteLength > 0) yield piece
      }
    },
    async isOver() {
      while (rest.byteLength === 0) if (!(await more())) return true
      return false
    },
  }
}

/** A header with its extended records, and all their bytes as they were read. */
export type Raw = { header: Buffer; records: Map<string, string>; written: Buffer }

/** The next header; undefined at the end, which must be two empty blocks. */
export async function nextHeader(bytes: Bytes): Promise<Raw | undefined> {
  const header = await bytes.take(BLOCK)
  if (isEmpty(header)) {
    if (!isEmpty(await bytes.take(BLOCK))) throw broken('something follows its end')
    return undefined
  }
  checkHeader(header)
  if (typeOf(header) !== 'x') return { header, records: new Map(), written: header }
  const size = numberAt(header, 124, 11)
  if (size > MAX_RECORDS_BYTES) throw broken('an extended header is too long')
  const body = await bytes.take(size)
  await skipPadding(bytes, size)
  const described = await bytes.take(BLOCK)
  checkHeader(described)
  const written = Buffer.concat([header, body, padding(size), described])
  return { header: described, records: recordsOf(body), written }
}

/** Reads the padding after an entry. It must be empty, since no other check covers it. */
export async function skipPadding(bytes: Bytes, size: number) {
  if (!isEmpty(await bytes.take((BLOCK - (size % BLOCK)) % BLOCK))) throw broken('there is something between entries')
}

export function entryOf({ header, records, written }: Raw): BackupEntry {
  const kind = KINDS[typeOf(header)]
  if (kind === undefined) throw broken(`it has an entry of the type ${JSON.stringify(typeOf(header))}`)
  const text = (key: string, at: number) => records.get(key) ?? textAt(header, at, 100)
  const number = (key: string, at: number, digits: number) => {
    const given = records.get(key)
    return given === undefined ? numberAt(header, at, digits) : wholeNumber(given)
  }
  const name = text('path', 0)
  const opaque = (['trusted', 'user'] as const).find((one) => records.get(opaqueKey(one)) === 'y')
  const entry: BackupEntry = {
    path: kind === 'folder' ? name.replace(/\/$/, '') : name,
    kind,
    mode: numberAt(header, 100, 7),
    uid: number('uid', 108, 7),
    gid: number('gid', 116, 7),
    time: numberAt(header, 136, 11),
    size: number('size', 124, 11),
    ...(kind === 'symlink' || kind === 'hardlink' ? { to: text('linkpath', 157) } : {}),
    ...(opaque ? { opaque } : {}),
  }
  checkEntry(entry, header, records)
  // A field that is not checked here may mean something to another tool.
  if (!headerOf(entry).equals(written))
    throw broken(`the header of ${JSON.stringify(entry.path.slice(0, 200))} is altered`)
  return entry
}

const KNOWN = new Set(['path', 'linkpath', 'size', 'uid', 'gid', ...(['trusted', 'user'] as Opaque[]).map(opaqueKey)])

function checkEntry({ path, kind, mode, size, opaque }: BackupEntry, header: Buffer, records: Map<string, string>) {
  const named = JSON.stringify(path.slice(0, 200))
  for (const key of records.keys()) if (!KNOWN.has(key)) throw broken(`${named} says ${JSON.stringify(key)}`)
  if (mode > 0o777) throw broken(`${named} has more than plain permissions`)
  if (kind !== 'file' && size > 0) throw broken(`${named} has bytes and is not a file`)
  if (opaque && kind !== 'folder') throw broken(`${named} is marked as a folder`)
  if (kind === 'whiteout' && (numberAt(header, 329, 7) !== 0 || numberAt(header, 337, 7) !== 0))
    throw broken(`${named} is a device`)
}

function checkHeader(header: Buffer) {
  if (header.toString('latin1', 257, 265) !== 'ustar\x0000') throw broken('a header is malformed')
  const isTold = header.toString('latin1', 154, 156) === '\0 ' && numberAt(header, 148, 6) === checksumOf(header)
  if (!isTold) throw broken('a header does not match its checksum')
}

const typeOf = (header: Buffer): string => header.toString('latin1', 156, 157)

export const isEmpty = (block: Buffer): boolean => block.every((byte) => byte === 0)

function textAt(header: Buffer, at: number, length: number): string {
  const field = header.subarray(at, at + length)
  const end = field.indexOf(0)
  return utf8(end < 0 ? field : field.subarray(0, end))
}

function numberAt(header: Buffer, at: number, digits: number): number {
  const text = header.toString('latin1', at, at + digits)
  if (!/^[0-7]+$/.test(text)) throw broken('a number in a header is malformed')
  return Number.parseInt(text, 8)
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number)) throw broken('a number in an extended header is malformed')
  return number
}

function recordsOf(body: Buffer): Map<string, string> {
  const records = new Map<string, string>()
  for (let at = 0; at < body.byteLength; ) {
    const blank = body.indexOf(0x20, at)
    const length = blank < 0 ? 0 : wholeNumber(body.toString('latin1', at, blank))
    const record = body.subarray(blank + 1, at + length)
    const equals = record.indexOf(0x3d)
    if (at + length > body.byteLength || equals < 1 || record.at(-1) !== 0x0a)
      throw broken('an extended header is malformed')
    const key = utf8(record.subarray(0, equals))
    if (records.has(key)) throw broken('an extended header has a key twice')
    records.set(key, utf8(record.subarray(equals + 1, -1)))
    at += length
  }
  return records
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
function utf8(bytes: Buffer): string {
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    throw broken('a name is not UTF-8', { cause })
  }
}
