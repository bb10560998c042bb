/** Pictures that a program of a tenant may have written: nothing but a PNG of the size that was asked for is taken. */

/** What of the page is seen: 16 to 10. */
export const PICTURE = { width: 1280, height: 800 } as const
export const MAX_PICTURE_BYTES = 6 * 1024 ** 2

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** The length and the name of the first chunk (PNG, 11.2.1). */
const HEADER = Buffer.from('\0\0\0\rIHDR', 'latin1')
/** The whole last chunk, with its checksum. */
const LAST = Buffer.from([0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82])

/** Why it is not taken; undefined if it is. */
export function pictureFault(bytes: Buffer): string | undefined {
  if (bytes.length > MAX_PICTURE_BYTES) return `it has more than ${MAX_PICTURE_BYTES} bytes`
  if (!bytes.subarray(0, 8).equals(SIGNATURE) || !bytes.subarray(8, 16).equals(HEADER)) return 'it is no PNG'
  if (bytes.length < 33 || !bytes.subarray(-LAST.length).equals(LAST)) return 'it is cut off'
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
  return width === PICTURE.width && height === PICTURE.height ? undefined : `it is of ${width} by ${height} pixels`
}
