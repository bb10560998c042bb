/** Keys, certificate requests (RFC 2986) and the certificate that answers TLS-ALPN-01 (RFC 8737, section 3). */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  hash,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { promisify } from 'node:util'
import * as der from './der.ts'

const SUBJECT_ALT_NAME = '2.5.29.17'
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2'
const COMMON_NAME = '2.5.4.3'
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31'

const DAY_MS = 24 * 3600 * 1000

/** A new P-256 key, as PEM (PKCS #8). */
export async function newKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The request for a certificate with these names, in DER. The key is P-256. */
export function certificateRequest(keyPem: string, names: readonly string[]): Buffer {
  const key = createPrivateKey(keyPem)
  const extensions = der.sequence(der.oid(EXTENSION_REQUEST), der.set(der.sequence(altNames(names))))
  const info = der.sequence(
    der.integer(Buffer.from([0])),
    // The subject is empty: the names are in the extension, and a common name has at most 64 characters.
    der.sequence(),
    publicKeyOf(key),
    der.context(0, extensions),
  )
  return signed(info, key)
}

/** The self-signed certificate by which a server proves to the CA that it answers for the name. */
export function alpnCertificate(keyPem: string, name: string, keyAuthorization: string, now: number): string {
  const key = createPrivateKey(keyPem)
  const issuer = der.sequence(der.set(der.sequence(der.oid(COMMON_NAME), der.utf8('Headland ACME challenge'))))
  const digest = Buffer.from(hash('sha256', keyAuthorization, 'hex'), 'hex')
  const proof = der.sequence(der.oid(ACME_IDENTIFIER), der.yes(), der.octets(der.octets(digest)))
  const body = der.sequence(
    der.context(0, der.integer(Buffer.from([2]))),
    der.integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    der.sequence(der.oid(ECDSA_WITH_SHA256)),
    issuer,
    der.sequence(der.utcTime(now - DAY_MS), der.utcTime(now + 7 * DAY_MS)),
    issuer,
    publicKeyOf(key),
    der.context(3, der.sequence(altNames([name]), proof)),
  )
  return toPem('CERTIFICATE', signed(body, key))
}

const altNames = (names: readonly string[]): Buffer => {
  const values = names.map((name) => der.context(2, Buffer.from(name, 'ascii'), { constructed: false }))
  return der.sequence(der.oid(SUBJECT_ALT_NAME), der.octets(der.sequence(...values)))
}

const publicKeyOf = (key: KeyObject): Buffer => createPublicKey(key).export({ type: 'spki', format: 'der' })

const signed = (content: Buffer, key: KeyObject): Buffer =>
  der.sequence(content, der.sequence(der.oid(ECDSA_WITH_SHA256)), der.bits(sign('sha256', content, key)))

function toPem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
