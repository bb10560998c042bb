/**
 * The representations in which a stored response is sent: as the app sent it, or compressed by us. A compressed one is
 * made once per object, in the background, when the first client that accepts it asks. That client does not wait for
 * it.
 */
import { promisify } from 'node:util'
import { brotliCompress, gzip as compressGzip, constants as zlib } from 'node:zlib'
import { isCompressible } from '../../http/content-types.ts'
import { chooseEncoding, type Encoding } from '../../http/negotiate.ts'
import { fieldOf, type HeaderList } from '../fields/header-list.ts'
import type { StoredResponse } from './object.ts'

export type Representation = { encoding: Encoding; body: Buffer }

const WORTH_COMPRESSING_BYTES = 1024
/** A compressed representation that saves less is not worth a second copy. */
const KEPT_BELOW = 0.9

const brotli = promisify(brotliCompress)
const gzip = promisify(compressGzip)

/**
 * Whether we may compress it: RFC 9110, section 7.7, on `no-transform`. Only 200s, because other responses are short.
 */
export function mayBeCompressed(status: number, headers: HeaderList, size: number): boolean {
  if (status !== 200 || size < WORTH_COMPRESSING_BYTES) return false
  const type = fieldOf(headers, 'content-type')
  return (
    type !== undefined &&
    isCompressible(type) &&
    fieldOf(headers, 'content-encoding') === undefined &&
    !/\bno-transform\b/i.test(fieldOf(headers, 'cache-control') ?? '')
  )
}

/** The best available representation for this client. */
export function chooseRepresentation(
  stored: StoredResponse,
  body: Buffer,
  acceptEncoding: string | undefined,
): Representation {
  const wanted = isCompressed(stored) ? chooseEncoding(acceptEncoding, AVAILABLE) : 'identity'
  const made = wanted === 'identity' ? undefined : stored[wanted]
  return made ? { encoding: wanted, body: made } : { encoding: 'identity', body }
}

/** The encoding that this client prefers and that has not been made yet. */
export function missingEncoding(stored: StoredResponse, acceptEncoding: string | undefined): 'br' | 'gzip' | undefined {
  if (!isCompressed(stored)) return undefined
  const wanted = chooseEncoding(acceptEncoding, AVAILABLE)
  return wanted !== 'identity' && stored[wanted] === undefined ? wanted : undefined
}

/** `null` where it saves too little. */
export async function compressed(body: Buffer, encoding: 'br' | 'gzip'): Promise<Buffer | null> {
  const params = { [zlib.BROTLI_PARAM_QUALITY]: 5, [zlib.BROTLI_PARAM_SIZE_HINT]: body.length }
  const made = encoding === 'br' ? await brotli(body, { params }) : await gzip(body, { level: 6 })
  return made.length < body.length * KEPT_BELOW ? made : null
}

const AVAILABLE: readonly Encoding[] = ['br', 'gzip']

/** `br` is undefined while it may yet be made, and null where none will be. */
const isCompressed = ({ br, gzip }: StoredResponse): boolean => br !== null || gzip !== null
