/**
 * One strict tar, for backups and for layers of images, with the kinds of entries that each allows. The reader refuses whatever
 * the writer does not write, because attackers use differences between two lenient readers to get past the one that checks.
 */
import { type Bytes, bytesFrom } from './bytes.ts'
import type { Opaque, TarEntry, TarFormat, TarKind } from './entry.ts'
import { BLOCK, checksumOf, headerFor, opaqueKey, padding, TYPES } from './write.ts'

/** A header with its extended records, and all their bytes as they were read. */
export type Raw = { header: Buffer; records: Map<string, string>; written: Buffer }

/** The maximum size of an extended header: two paths of the longest kind, and a margin. */
const MAX_RECORDS_BYTES = 64 * 1024

const OPAQUES: readonly Opaque[] = ['trusted', 'user']
const KNOWN_RECORDS = new Set(['path', 'linkpath', 'size', 'uid', 'gid', ...OPAQUES.map(opaqueKey)])

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function createTar<Kind extends TarKind>(format: TarFormat<Kind>) {
  const { broken } = format
  const headerOf = (entry: TarEntry<Kind>): Buffer => headerFor(entry, format)

  /** The next header; undefined at the end, which must be two empty blocks. */
  async function nextHeader(bytes: Bytes): Promise<Raw | undefined> {
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
  async function skipPadding(bytes: Bytes, size: number) {
    if (!isEmpty(await bytes.take(padding(size).byteLength))) throw broken('there is something between entries')
  }

  function entryOf({ header, records, written }: Raw): TarEntry<Kind> {
    const type = typeOf(header)
    const kind = format.kinds.find((one) => TYPES[one] === type)
    if (kind === undefined) throw broken(`it has an entry of the type ${JSON.stringify(type)}`)
    const text = (key: string, at: number) => records.get(key) ?? textAt(header, at)
    const number = (key: string, at: number, digits: number) => {
      const given = records.get(key)
      return given === undefined ? numberAt(header, at, digits) : wholeNumber(given)
    }
    const name = text('path', 0)
    const opaque = opaqueIn(records)
    const entry: TarEntry<Kind> = {
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
    if (!headerOf(entry).equals(written)) throw broken(`the header of ${nameFor(entry.path)} is altered`)
    return entry
  }

  function checkEntry({ path, kind, mode, size, opaque }: TarEntry, header: Buffer, records: Map<string, string>) {
    const named = nameFor(path)
    for (const key of records.keys()) if (!KNOWN_RECORDS.has(key)) throw broken(`${named} says ${JSON.stringify(key)}`)
    if (mode > 0o777) throw broken(`${named} has more than plain permissions`)
    if (kind !== 'file' && size > 0) throw broken(`${named} has bytes and is not a file`)
    if (opaque && kind !== 'folder') throw broken(`${named} is marked as a folder`)
    if (kind === 'whiteout' && (numberAt(header, 329, 7) !== 0 || numberAt(header, 337, 7) !== 0))
      throw broken(`${named} is a device`)
  }

  function checkHeader(header: Buffer) {
    if (header.toString('latin1', 257, 265) !== 'ustar\x0000') throw broken('a header is malformed')
    const isRight = header.toString('latin1', 154, 156) === '\0 ' && numberAt(header, 148, 6) === checksumOf(header)
    if (!isRight) throw broken('a header does not match its checksum')
  }

  function textAt(header: Buffer, at: number): string {
    const field = header.subarray(at, at + 100)
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
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(number))
      throw broken('a number in an extended header is malformed')
    return number
  }

  function recordsOf(body: Buffer): Map<string, string> {
    const records = new Map<string, string>()
    for (let at = 0; at < body.byteLength; ) {
      const blank = body.indexOf(0x20, at)
      const length = blank < 0 ? 0 : wholeNumber(body.toString('latin1', at, blank))
      const record = body.subarray(blank + 1, at + length)
      const equals = record.indexOf(0x3d)
      if (length === 0 || at + length > body.byteLength || equals < 1 || record.at(-1) !== 0x0a)
        throw broken('an extended header is malformed')
      const key = utf8(record.subarray(0, equals))
      if (records.has(key)) throw broken('an extended header has a key twice')
      records.set(key, utf8(record.subarray(equals + 1, -1)))
      at += length
    }
    return records
  }

  function utf8(bytes: Buffer): string {
    try {
      return decoder.decode(bytes)
    } catch (cause) {
      throw broken('a name is not UTF-8', { cause })
    }
  }

  return {
    headerOf,
    bytesOf: (source: AsyncIterable<Uint8Array>): Bytes => bytesFrom(source, () => broken('it was cut off')),
    nextHeader,
    entryOf,
    skipPadding,
  }
}

/** A name of a tar in a message: short, and without control characters. */
export const nameFor = (path: string): string => JSON.stringify(path.slice(0, 200))

export const opaqueIn = (records: ReadonlyMap<string, string>): Opaque | undefined =>
  OPAQUES.find((one) => records.get(opaqueKey(one)) === 'y')

const typeOf = (header: Buffer): string => header.toString('latin1', 156, 157)

const isEmpty = (block: Buffer): boolean => block.every((byte) => byte === 0)
