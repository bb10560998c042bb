/**
 * Writes the entries of a layer: ustar headers (POSIX.1-1988), and extended ones (pax, POSIX.1-2001) if a name or a number does
 * not fit. Equal entries are equal bytes.
 */
import { LAYER_TIME, type LayerEntry } from './entry.ts'

export const BLOCK = 512

const TYPES = { file: '0', symlink: '2', folder: '5' } as const

const NAME_BYTES = 100
/** The largest numbers that fit into a header. */
const MAX_SIZE = 0o77777777777
const MAX_ID = 0o7777777

/** The header, after an extended one if needed. The bytes of a file follow, padded to whole blocks. */
export function headerOf({ path, kind, mode, owner, size, to = '' }: LayerEntry): Buffer {
  const name = kind === 'folder' ? `${path}/` : path
  const records: [string, string][] = []
  if (needsRecord(name)) records.push(['path', name])
  if (needsRecord(to)) records.push(['linkpath', to])
  if (size > MAX_SIZE) records.push(['size', String(size)])
  const header = ustar({ name, mode, owner, size, to }, TYPES[kind])
  if (records.length === 0) return header
  const body = Buffer.concat(records.map(([key, value]) => record(key, value)))
  const about = ustar({ name: 'pax', mode: 0o644, owner: 0, size: body.byteLength, to: '' }, 'x')
  return Buffer.concat([about, body, padding(body.byteLength), header])
}

/** Readers disagree on the encoding of a header's own text, and agree on that of a record. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII ends where other encodings begin.
const needsRecord = (text: string): boolean => Buffer.byteLength(text) > NAME_BYTES || /[^\x00-\x7f]/.test(text)

const ZEROS = Buffer.alloc(2 * BLOCK)

export const padding = (size: number): Buffer => ZEROS.subarray(0, (BLOCK - (size % BLOCK)) % BLOCK)

/** Two empty blocks. */
export const END = ZEROS

type Fields = { name: string; mode: number; owner: number; size: number; to: string }

function ustar({ name, mode, owner, size, to }: Fields, type: string): Buffer {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, digits: number) =>
    header.write(value.toString(8).padStart(digits, '0'), at, 'latin1')
  Buffer.from(name).copy(header, 0, 0, NAME_BYTES)
  octal(mode, 100, 7)
  octal(owner > MAX_ID ? 0 : owner, 108, 7)
  octal(owner > MAX_ID ? 0 : owner, 116, 7)
  octal(size > MAX_SIZE ? 0 : size, 124, 11)
  octal(LAYER_TIME, 136, 11)
  header.write(type, 156, 'latin1')
  Buffer.from(to).copy(header, 157, 0, NAME_BYTES)
  header.write('ustar\x0000', 257, 'latin1')
  octal(0, 329, 7)
  octal(0, 337, 7)
  header.write(`${checksumOf(header).toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}

/** The sum of all bytes, with those of the checksum itself counted as blanks. */
export function checksumOf(header: Buffer): number {
  let sum = 8 * 0x20
  for (let at = 0; at < BLOCK; at++) if (at < 148 || at >= 156) sum += header[at] as number
  return sum
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
export function record(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`)
  let length = rest.byteLength + 1
  while (String(length).length + rest.byteLength !== length) length = String(length).length + rest.byteLength
  return Buffer.concat([Buffer.from(String(length)), rest])
}
