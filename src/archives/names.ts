/** Which names an entry may have. An archive is unpacked on Linux, but its author may sit anywhere. */
import { isUtf8 } from 'node:buffer'

/** Linux refuses a longer name of one file, or of one folder. */
const MAX_SEGMENT_BYTES = 255
/** No source is that deep, and every level costs a look-up. */
const MAX_DEPTH = 128

/** What is wrong with a name, in a few words; the slash that ends a folder's name is not part of it. */
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
 * Two names are the same to some file system exactly if they fold to the same. Upper case first: only there do ß and ss,
 * or the two small sigmas, meet. No slash appears or vanishes by it.
 */
export const fold = (name: string): string => name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')

/** The text, if the bytes are UTF-8. */
export const decodeUtf8 = (bytes: Buffer): string | undefined => (isUtf8(bytes) ? bytes.toString('utf8') : undefined)
