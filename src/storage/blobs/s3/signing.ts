/**
 * AWS Signature Version 4 in the `Authorization` header. The digest of the body is a part of it, so a store refuses bytes that
 * changed on their way.
 */
import { createHmac, hash } from 'node:crypto'
import type { Secret } from '../../../base/index.ts'

export type Credentials = { keyId: string; secret: Secret; region: string }

export type Unsigned = {
  method: string
  host: string
  /** Encoded, as it is sent. */
  path: string
  query: Readonly<Record<string, string>>
  headers: Readonly<Record<string, string>>
  /** SHA-256 of the body in hexadecimal. */
  bodyDigest: string
}

/** The headers to send, with the signature. */
export function signed(request: Unsigned, { keyId, secret, region }: Credentials, now: Date): Record<string, string> {
  const time = now.toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.host,
    'x-amz-content-sha256': request.bodyDigest,
    'x-amz-date': time,
  }
  // A proxy may change other headers, so only these are signed.
  const names = Object.keys(headers)
    .filter((name) => name === 'host' || name.startsWith('x-amz-'))
    .toSorted()
  const canonical = [
    request.method,
    request.path,
    queryText(request.query),
    ...names.map((name) => `${name}:${headers[name]?.trim()}`),
    '',
    names.join(';'),
    request.bodyDigest,
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', canonical, 'hex')}`
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret.reveal()}`)
  const signature = hmac(key, text).toString('hex')
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${keyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return headers
}

/** Sorted by name, as it is signed and sent. */
export const queryText = (query: Readonly<Record<string, string>>): string =>
  Object.entries(query)
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .toSorted()
    .join('&')

export const pathText = (...names: string[]): string =>
  `/${names
    .flatMap((name) => name.split('/'))
    .map(encoded)
    .join('/')}`

/** RFC 3986: all but letters, digits, `-`, `.`, `_` and `~`. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
