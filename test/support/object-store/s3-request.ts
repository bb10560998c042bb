/** A request to an object store in its parts. */
import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export type S3Request = {
  method: string
  /** As it was sent. */
  rawPath: string
  bucket: string
  /** Empty for the bucket itself. */
  key: string
  query: URLSearchParams
  headers: Record<string, string | undefined>
  body: Buffer
  authorization: { keyId: string; day: string; region: string; signedHeaders: string; signature: string } | undefined
}

export function parseRequest({ method = '', url = '/', headers }: IncomingMessage, body: Buffer): S3Request {
  const [rawPath = '/', search = ''] = url.split('?')
  // A plus stands for itself: S3 does not use the encoding of forms.
  const query = new URLSearchParams(search.replaceAll('+', '%2B'))
  const [, bucket = '', ...names] = rawPath.split('/').map(decodeURIComponent)
  return {
    ...{ method, rawPath, bucket, key: names.join('/'), query, body },
    headers: headers as Record<string, string | undefined>,
    authorization: parseAuthorization(headers.authorization ?? ''),
  }
}

function parseAuthorization(text: string): S3Request['authorization'] {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
  const [, keyId, day, region, signedHeaders, signature] = form.exec(text) ?? []
  if (!keyId || !day || !region || !signedHeaders || !signature) return undefined
  return { keyId, day, region, signedHeaders, signature }
}

/** What the signature must be, computed from the request as it arrived. */
export function signatureOf({ method, rawPath, query, headers, authorization }: S3Request, secret: string): string {
  if (!authorization) return ''
  const { day, region, signedHeaders } = authorization
  const escaped = (text: string) =>
    Array.from(Buffer.from(text), (byte) => {
      const sign = String.fromCharCode(byte)
      return /[A-Za-z0-9\-._~]/.test(sign) ? sign : `%${byte.toString(16).padStart(2, '0').toUpperCase()}`
    }).join('')
  const search = [...query].map(([name, value]) => `${escaped(name)}=${escaped(value)}`).sort()
  const lines = signedHeaders.split(';').map((name) => `${name}:${(headers[name] ?? '').trim()}\n`)
  const text = `${method}\n${rawPath}\n${search.join('&')}\n${lines.join('')}\n${signedHeaders}\n${headers['x-amz-content-sha256']}`
  const toSign = `AWS4-HMAC-SHA256\n${headers['x-amz-date']}\n${day}/${region}/s3/aws4_request\n${createHash('sha256').update(text).digest('hex')}`
  const mac = (key: Buffer, part: string) => createHmac('sha256', key).update(part).digest()
  const ofDay = mac(Buffer.from(`AWS4${secret}`), day)
  const ofService = mac(mac(ofDay, region), 's3')
  return mac(mac(ofService, 'aws4_request'), toSign).toString('hex')
}
