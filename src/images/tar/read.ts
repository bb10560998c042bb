/**
 * Reads the tar of a layer strictly: whatever `tar/write` does not write is refused, since a registry is another machine, and
 * attackers use differences between two lenient readers to get past the one that checks.
 */
import { LayerBroken, type LayerEntry } from './entry.ts'
import { BLOCK, checksumOf, headerOf, padding } from './write.ts'

const KINDS: Record<string, LayerEntry['kind']> = { 0: 'file', 2: 'symlink', 5: 'folder' }

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
  const cutOff = () => new LayerBroken('it is cut off')

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

/** The next entry; undefined at the end, which must be two empty blocks and nothing after them. */
export async function nextEntry(bytes: Bytes): Promise<LayerEntry | undefined> {
  const first = await bytes.take(BLOCK)
  if (isEmpty(first)) {
    if (!isEmpty(await bytes.take(BLOCK)) || !(await bytes.isOver())) throw new LayerBroken('something follows its end')
    return undefined
  }
  if (first.toString('latin1', 156, 157) !== 'x') return entryOf(first, new Map(), first)
  checkHeader(first)
  const size = numberAt(first, 124, 11)
  if (size > MAX_RECORDS_BYTES) throw new LayerBroken('an extended header is too long')
  const body = await bytes.take(size)
  const pad = await bytes.take(padding(size).byteLength)
  const header = await bytes.take(BLOCK)
  return entryOf(header, recordsOf(body), Buffer.concat([first, body, pad, header]))
}

/** Reads the padding after a file. It must be empty, since no other check covers it. */
export async function skipPadding(bytes: Bytes, size: number) {
  if (!isEmpty(await bytes.take(padding(size).byteLength))) throw new LayerBroken('there is something between entries')
}

function entryOf(header: Buffer, records: ReadonlyMap<string, string>, written: Buffer): LayerEntry {
  checkHeader(header)
  const type = header.toString('latin1', 156, 157)
  const kind = KINDS[type]
  if (kind === undefined) throw new LayerBroken(`it has an entry of the type ${JSON.stringify(type)}`)
  const name = records.get('path') ?? textAt(header, 0)
  const entry: LayerEntry = {
    path: kind === 'folder' ? name.replace(/\/$/, '') : name,
    kind,
    mode: numberAt(header, 100, 7),
    owner: numberAt(header, 108, 7),
    size: records.has('size') ? wholeNumber(records.get('size') ?? '') : numberAt(header, 124, 11),
    ...(kind === 'symlink' ? { to: records.get('linkpath') ?? textAt(header, 157) } : {}),
  }
  if (kind !== 'file' && entry.size > 0) throw new LayerBroken('an entry has bytes and is not a file')
  // A field that is not checked here may mean something to another tool.
  if (!headerOf(entry).equals(written)) throw new LayerBroken(`the header of ${nameFor(entry.path)} is not ours`)
  return entry
}

/** A name of a layer in a message: short, and without control characters. */
export const nameFor = (path: string): string => JSON.stringify(path.slice(0, 200))

function checkHeader(header: Buffer) {
  if (header.toString('latin1', 257, 265) !== 'ustar\x0000') throw new LayerBroken('a header is malformed')
  if (numberAt(header, 148, 6) !== checksumOf(header)) throw new LayerBroken('a header does not match its checksum')
}

const isEmpty = (block: Buffer): boolean => block.every((byte) => byte === 0)

function textAt(header: Buffer, at: number): string {
  const field = header.subarray(at, at + 100)
  const end = field.indexOf(0)
  return utf8(end < 0 ? field : field.subarray(0, end))
}

function numberAt(header: Buffer, at: number, digits: number): number {
  const text = header.toString('latin1', at, at + digits)
  if (!/^[0-7]+$/.test(text)) throw new LayerBroken('a number in a header is malformed')
  return Number.parseInt(text, 8)
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number))
    throw new LayerBroken('a number in an extended header is malformed')
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
      throw new LayerBroken('an extended header is malformed')
    records.set(utf8(record.subarray(0, equals)), utf8(record.subarray(equals + 1, -1)))
    at += length
  }
  return records
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
function utf8(bytes: Buffer): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new LayerBroken('a name is not UTF-8')
  }
}
