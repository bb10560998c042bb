/** Proof that a hook call comes from someone with the shared secret. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { digestOf, Secret, sameDigest } from '../../base/index.ts'

const HEX = /^[0-9a-f]{64}$/i
/** Signatures that one header may list; Standard Webhooks lists several while a secret changes. */
const MAX_SIGNATURES = 8

/**
 * A secret that every service takes: GitLab demands this form of a token that signs, and to the others it is any text.
 */
export const newHookSecret = (): Secret => new Secret(`whsec_${randomBytes(32).toString('base64')}`)

const hmac = (key: string | Buffer, ...parts: (string | Buffer)[]): Buffer =>
  parts.reduce((sum, part) => sum.update(part), createHmac('sha256', key)).digest()

const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

/** A signature in hexadecimal digits: the HMAC with SHA-256 of the body. An empty secret proves nothing. */
export function provesHex(signature: string, body: Buffer | string, secret: Secret): boolean {
  const key = secret.reveal()
  return key !== '' && HEX.test(signature) && isSame(Buffer.from(signature, 'hex'), hmac(key, body))
}

/** The same after `sha256=`. */
export const provesPrefixed = (signature: string, body: Buffer, secret: Secret): boolean =>
  signature.startsWith('sha256=') && provesHex(signature.slice('sha256='.length), body, secret)

/** The secret itself. Digests are compared, so that not even its length can be measured. */
export const provesToken = (token: string, secret: Secret): boolean =>
  token !== '' && secret.reveal() !== '' && sameDigest(digestOf(token), digestOf(secret.reveal()))

/**
 * The signature of Standard Webhooks over id, time and body. The time is not compared with the clock: what a repeated call
 * leads to is a look at the branch as it is now.
 */
export function provesStandard(signed: { id: string; time: string; signatures: string }, body: Buffer, secret: Secret) {
  const key = secret.reveal()
  if (key === '' || signed.id === '' || !/^\d{1,15}$/.test(signed.time)) return false
  const content = [`${signed.id}.${signed.time}.`, body] as const
  // The standard writes keys in Base64 after a prefix; a secret without the prefix is the key.
  const bytes = key.startsWith('whsec_') ? Buffer.from(key.slice('whsec_'.length), 'base64') : Buffer.from(key)
  const sum = hmac(bytes, ...content)
  return signed.signatures
    .split(' ', MAX_SIGNATURES)
    .some((each) => each.startsWith('v1,') && isSame(Buffer.from(each.slice(3), 'base64'), sum))
}
