/**
 * The part of DER (ITU-T X.690) that certificate requests, self-signed certificates, the look-up of extensions and OCSP need.
 * Everything else about certificates is read by `X509Certificate` of Node.
 */

const TAG = { boolean: 0x01, integer: 0x02, bits: 0x03, octets: 0x04, null: 0x05, oid: 0x06, utf8: 0x0c, utcTime: 0x17 }
const SEQUENCE = 0x30
const SET = 0x31

export function encode(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content)
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body])
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes = Buffer.from(length.toString(16).padStart(length > 0xffff ? 6 : length > 0xff ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes])
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => encode(SEQUENCE, ...items)
export const set = (...items: readonly Uint8Array[]): Buffer => encode(SET, ...items)
export const octets = (...content: readonly Uint8Array[]): Buffer => encode(TAG.octets, ...content)
export const bits = (content: Uint8Array): Buffer => encode(TAG.bits, Buffer.from([0]), content)
export const utf8 = (text: string): Buffer => encode(TAG.utf8, Buffer.from(text))
export const nothing = (): Buffer => encode(TAG.null)
export const yes = (): Buffer => encode(TAG.boolean, Buffer.from([0xff]))

/** A whole number from its bytes, which are not negative. */
export function integer(bytes: Uint8Array): Buffer {
  const isNegative = ((bytes[0] ?? 0) & 0x80) !== 0
  return isNegative ? encode(TAG.integer, Buffer.from([0]), bytes) : encode(TAG.integer, bytes)
}

/** Context-specific tags: [0], [1] …; `constructed` if they hold other values. */
export const context = (number: number, content: Uint8Array, { constructed = true } = {}): Buffer =>
  encode((constructed ? 0xa0 : 0x80) | number, content)

/** UTCTime, which is right for years until 2049 (RFC 5280, 4.1.2.5). */
export function utcTime(ms: number): Buffer {
  const [date = '', time = ''] = new Date(ms).toISOString().split('T')
  return encode(
    TAG.utcTime,
    Buffer.from(`${date.slice(2).replaceAll('-', '')}${time.slice(0, 8).replaceAll(':', '')}Z`),
  )
}

/** `1.2.840.…` */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number)
  return encode(TAG.oid, Buffer.from([first * 40 + second, ...others.flatMap(base128)]))
}

function base128(number: number): number[] {
  const bytes = [number & 0x7f]
  for (let rest = number >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80)
  return bytes
}

/** `raw` is the whole value with its tag and length. */
export type Element = { tag: number; body: Buffer; raw: Buffer; end: number }

/** The value at an offset. Throws where the bytes do not hold it whole. */
export function read(bytes: Buffer, at = 0): Element {
  const tag = bytes.readUInt8(at)
  const first = bytes.readUInt8(at + 1)
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  if (lengthBytes > 4) throw new RangeError('a DER value is too long')
  const length = lengthBytes === 0 ? first & 0x7f : bytes.readUIntBE(at + 2, lengthBytes)
  const start = at + 2 + lengthBytes
  if (start + length > bytes.length) throw new RangeError('a DER value is cut off')
  const end = start + length
  return { tag, body: bytes.subarray(start, end), raw: bytes.subarray(at, end), end }
}

/** The values inside of a sequence. */
export function readAll(body: Buffer): Element[] {
  const elements: Element[] = []
  for (let at = 0; at < body.length; ) {
    const element = read(body, at)
    elements.push(element)
    at = element.end
  }
  return elements
}
