/** Signed requests of ACME (RFC 8555, section 6.2) by a P-256 key: JWS in its flattened form (RFC 7515), with ES256. */
import { createHmac, createPrivateKey, createPublicKey, hash, type KeyObject, sign } from 'node:crypto'

export type Jwk = { crv: string; kty: string; x: string; y: string }

export type AccountKey = { key: KeyObject; jwk: Jwk; thumbprint: string }

export function readAccountKey(pem: string): AccountKey {
  const key = createPrivateKey(pem)
  const { crv = '', kty = '', x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' })
  // The members in the order of RFC 7638, section 3.2, which the digest depends on.
  const jwk = { crv, kty, x, y }
  return { key, jwk, thumbprint: hash('sha256', JSON.stringify(jwk), 'base64url') }
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url')

type Protected = { url: string; nonce?: string; kid?: string; jwk?: Jwk }

/** `payload` is undefined for a POST-as-GET. */
export function signRequest({ key }: AccountKey, header: Protected, payload: unknown): string {
  const head = base64url(JSON.stringify({ alg: 'ES256', ...header }))
  const body = payload === undefined ? '' : base64url(JSON.stringify(payload))
  const signature = sign('sha256', Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' })
  return JSON.stringify({ protected: head, payload: body, signature: signature.toString('base64url') })
}

/** How the CA knows the customer from elsewhere (RFC 8555, section 7.3.4). The key is base64url, as CAs give it. */
export type ExternalAccount = { keyId: string; hmacKey: string }

export function bindExternalAccount({ keyId, hmacKey }: ExternalAccount, url: string, jwk: Jwk): unknown {
  const head = base64url(JSON.stringify({ alg: 'HS256', kid: keyId, url }))
  const payload = base64url(JSON.stringify(jwk))
  const signature = createHmac('sha256', Buffer.from(hmacKey, 'base64url'))
    .update(`${head}.${payload}`)
    .digest('base64url')
  return { protected: head, payload, signature }
}
