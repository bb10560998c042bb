/**
 * Writes entries as a tar that any tool can list: ustar headers (POSIX.1-1988), and extended ones (pax, POSIX.1-2001) if a name
 * or a number does not fit. The overlay's mark is an attribute in the form of GNU tar. Equal entries are equal bytes.
 */
import type { TarEntry, TarFormat, TarKind } from './entry.ts'

export const BLOCK = 512

export const TYPES: Record<TarKind, string> = { file: '0', hardlink: '1', symlink: '2', whiteout: '3', folder: '5' }

const NAME_BYTES = 100
/** The largest numbers that fit into a header. */
const MAX_SIZE = 0o77777777777
const MAX_ID = 0o7777777

export const opaqueKey = (kind: string): string => `SCHILY.xattr.${kind}.overlay.opaque`

type Writing = Pick<TarFormat<TarKind>, 'isHeaderAscii' | 'extended'>

/** The header, after an extended one if needed. The bytes of a file follow, padded to whole blocks. */
export function headerFor(entry: TarEntry, { isHeaderAscii, extended }: Writing): Buffer {
  const { path, kind, uid, gid, size, to = '', opaque } = entry
  const name = kind === 'folder' ? `${path}/` : path
  const needsRecord = (text: string) => Buffer.byteLength(text) > NAME_BYTES || (isHeaderAscii && !isAscii(text))
  const records: [string, string][] = []
  if (needsRecord(name)) records.push(['path', name])
  if (needsRecord(to)) records.push(['linkpath', to])
  if (size > MAX_SIZE) records.push(['size', String(size)])
  if (uid > MAX_ID) records.push(['uid', String(uid)])
  if (gid > MAX_ID) records.push(['gid', String(gid)])
  if (opaque !== undefined) records.push([opaqueKey(opaque), 'y'])
  const header = ustar({ ...entry, path: name, to }, TYPES[kind])
  if (records.length === 0) return header
  const body = Buffer.concat(records.map(([key, value]) => record(key, value)))
  const about = { ...extended(entry), path: 'pax', to: '', size: body.byteLength }
  return Buffer.concat([ustar(about, 'x'), body, padding(body.byteLength), header])
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII ends where other encodings begin.
const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text)

const ZEROS = Buffer.alloc(2 * BLOCK)

export const padding = (size: number): Buffer => ZEROS.subarray(0, (BLOCK - (size % BLOCK)) % BLOCK)

/** Two empty blocks. */
export const END = ZEROS

function ustar({ path, mode, uid, gid, size, time, to = '' }: Omit<TarEntry, 'kind'>, type: string): Buffer {
  const header = Buffer.alloc(BLOCK)
  putName(header, path, 0)
  putOctal(header, mode > MAX_ID ? 0 : mode, 100, 7)
  putOctal(header, uid > MAX_ID ? 0 : uid, 108, 7)
  putOctal(header, gid > MAX_ID ? 0 : gid, 116, 7)
  putOctal(header, size > MAX_SIZE ? 0 : size, 124, 11)
  putOctal(header, time > MAX_SIZE ? 0 : time, 136, 11)
  header.write(type, 156, 'latin1')
  if (to !== '') putName(header, to, 157)
  header.write('ustar\x0000', 257, 'latin1')
  putOctal(header, 0, 329, 7)
  putOctal(header, 0, 337, 7)
  putOctal(header, checksumOf(header), 148, 6)
  header[155] = 0x20
  return header
}

/** As many of its bytes as fit, even if the last character is cut. */
function putName(header: Buffer, name: string, at: number) {
  if (Buffer.byteLength(name) > NAME_BYTES) Buffer.from(name).copy(header, at, 0, NAME_BYTES)
  else header.write(name, at)
}

/** Digit by digit: there is a header for each file, and with texts of numbers it would cost half as much again. */
function putOctal(header: Buffer, value: number, at: number, digits: number) {
  for (let place = at + digits - 1, rest = value; place >= at; place--) {
    header[place] = 0x30 + (rest % 8)
    rest = Math.floor(rest / 8)
  }
}

/** The sum of all bytes, with those of the checksum itself counted as blanks. */
export function checksumOf(header: Buffer): number {
  let sum = 8 * 0x20
  for (let at = 0; at < 148; at++) sum += header[at] as number
  for (let at = 156; at < BLOCK; at++) sum += header[at] as number
  return sum
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function record(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`)
  let length = rest.byteLength + 1
  while (String(length).length + rest.byteLength !== length) length = String(length).length + rest.byteLength
  return Buffer.concat([Buffer.from(String(length)), rest])
}
