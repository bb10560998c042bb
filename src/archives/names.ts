/** Which names an entry may have. An archive is unpacked on Linux, but may be made on any system. */
import { isUtf8 } from 'node:buffer'

/** The longest name of a file or folder on Linux. */
const MAX_SEGMENT_BYTES = 255
/** No source is that deep, and every level costs a look-up. */
const MAX_DEPTH = 128

/** Why a name is refused, in a few words; expected without the slash at the end of a folder's name. */
export function faultOfName(name: string): string | undefined {
  if (name === '') return 'an empty name'
  if (name.includes('\0')) return 'a NUL in the name'
  if (/\p{Cc}/u.test(name)) return 'a control character in the name'
  if (name.includes('\\')) return 'a back-slash in the name'
  if (name.startsWith('/')) return 'an absolute path'
  if (/^[a-z]:/i.test(name)) return 'a drive letter'
  const segments = name.split('/')
  if (segments.includes('..')) return 'a .. in the path'
  if (segments.includes('.')) return 'a . in the path'
  if (segments.includes('')) return 'an empty segment in the path'
  if (segments.length > MAX_DEPTH) return `more than ${MAX_DEPTH} folders deep`
  if (
    segments.some((segment) => 3 * segment.length > MAX_SEGMENT_BYTES && Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)
  ) {
    return `a segment of more than ${MAX_SEGMENT_BYTES} bytes`
  }
  return undefined
}

/**
 * Names with the same folded form may be the same name to a file system. Upper case first: only in upper case are ß and ss,
 * and the two small sigmas, equal. Folding neither adds nor removes a slash.
 */
export const fold = (name: string): string => name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')

/** The text, if the bytes are UTF-8. */
export const decodeUtf8 = (bytes: Buffer): string | undefined => (isUtf8(bytes) ? bytes.toString('utf8') : undefined)
