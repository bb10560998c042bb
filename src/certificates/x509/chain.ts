/** Certificates and keys as PEM: read, and checked before they are used. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import * as der from './der.ts'
import { extensionOf } from './fields.ts'

/** Bytes of a chain and of a key; certificates of a chain; names of a certificate. */
export const CHAIN_BYTES = 64 * 1024
export const KEY_BYTES = 16 * 1024
const MAX_CERTIFICATES = 10
const MAX_NAMES = 100
const RSA_BITS = { min: 2048, max: 4096 }
const CURVES: Readonly<Record<string, string>> = { prime256v1: 'P-256', secp384r1: 'P-384' }
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
const AUTHORITY_KEY_IDENTIFIER = '2.5.29.35'

export type ReadChain = {
  /** PEM in one form: leaf first, then intermediates. */
  chain: string
  names: string[]
  notBefore: number
  notAfter: number
  /** Who issued the leaf, in one line. */
  issuer: string
}

/** Why a chain or a key is refused. `field` names which of the two. */
export class CertificateRefused extends Error {
  readonly field: 'chain' | 'privateKey'
  constructor(field: 'chain' | 'privateKey', message: string) {
    super(message)
    this.field = field
  }
}

const refuse = (field: 'chain' | 'privateKey', message: string): never => {
  throw new CertificateRefused(field, message)
}

/** Reads a chain and its key, and throws a CertificateRefused unless a server can use them now. */
export function readCertificate(chainPem: string, keyPem: string, now: number): ReadChain & { key: string } {
  if (Buffer.byteLength(keyPem) > KEY_BYTES) refuse('privateKey', `must not have more than ${KEY_BYTES} bytes`)
  const certificates = parseChain(chainPem)
  const [leaf] = certificates as [X509Certificate, ...X509Certificate[]]
  const key = readKey(keyPem)
  if (!leaf.checkPrivateKey(key)) refuse('privateKey', 'is not the key of the first certificate of the chain')
  checkDates(certificates, now)
  checkOrder(certificates)
  const usages = leaf.keyUsage as string[] | undefined
  if (usages && !usages.includes(SERVER_AUTH))
    refuse('chain', 'is not for servers: its extended key usage lacks serverAuth')
  const names = namesOf(leaf)
  if (names.length === 0) refuse('chain', 'names no host: its subjectAltName has no DNS name')
  if (names.length > MAX_NAMES) refuse('chain', `must not have more than ${MAX_NAMES} names`)
  return { ...describe(certificates, names), key: key.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

/** What the CA sent for an order. Its chain is trusted, so only what a server needs is checked. */
export function readIssued(chainPem: string, keyPem: string, name: string): ReadChain {
  const certificates = parseChain(chainPem)
  const [leaf] = certificates as [X509Certificate, ...X509Certificate[]]
  if (!leaf.checkPrivateKey(createPrivateKey(keyPem))) refuse('chain', 'is not for the key of the order')
  const names = namesOf(leaf)
  if (!names.includes(name)) refuse('chain', `does not name ${name}`)
  return describe(certificates, names)
}

/** Whether a name of a certificate covers a host: a wildcard stands for one label. */
export const covers = (pattern: string, host: string): boolean =>
  pattern === host || (pattern.startsWith('*.') && host.slice(host.indexOf('.')) === pattern.slice(1))

/** The id under which renewal information is asked for (RFC 9773, section 4.1). Undefined where the certificate has none. */
export function renewalId(chainPem: string): string | undefined {
  const [leaf] = parseChain(chainPem) as [X509Certificate]
  const keyIdentifier = authorityKeyIdentifier(leaf)
  if (keyIdentifier === undefined) return undefined
  const hex = leaf.serialNumber.length % 2 ? `0${leaf.serialNumber}` : leaf.serialNumber
  // The serial number is that of the certificate in DER, with the byte that keeps it from being negative.
  const serial = der.read(der.integer(Buffer.from(hex, 'hex'))).body
  return `${keyIdentifier.toString('base64url')}.${serial.toString('base64url')}`
}

const PEM_BLOCK = '-----BEGIN CERTIFICATE-----'
const PEM_END = '-----END CERTIFICATE-----'

export function parseChain(pem: string): X509Certificate[] {
  if (Buffer.byteLength(pem) > CHAIN_BYTES) refuse('chain', `must not have more than ${CHAIN_BYTES} bytes`)
  const blocks = pem.split(PEM_BLOCK).slice(1)
  if (blocks.length === 0) refuse('chain', `must be certificates as PEM, each beginning with ${PEM_BLOCK}`)
  if (blocks.length > MAX_CERTIFICATES) refuse('chain', `must not have more than ${MAX_CERTIFICATES} certificates`)
  return blocks.map((block, index) => {
    const end = block.indexOf(PEM_END)
    if (end < 0) refuse('chain', `is cut off: certificate ${index + 1} has no end`)
    try {
      return new X509Certificate(`${PEM_BLOCK}${block.slice(0, end)}${PEM_END}\n`)
    } catch {
      return refuse('chain', `cannot be read: certificate ${index + 1} is damaged`)
    }
  })
}

function readKey(pem: string): KeyObject {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem)) {
    refuse('privateKey', 'is protected by a password: decrypt it first, as with openssl pkey')
  }
  let key: KeyObject
  try {
    key = createPrivateKey({ key: pem, format: 'pem' })
  } catch {
    return refuse('privateKey', 'must be one private key as PEM, without a password')
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key
  const { modulusLength = 0, namedCurve = '' } = details
  if (type === 'rsa' && modulusLength >= RSA_BITS.min && modulusLength <= RSA_BITS.max) return key
  if (type === 'ec' && CURVES[namedCurve]) return key
  const curves = Object.values(CURVES).join(' or ')
  return refuse('privateKey', `must be RSA with ${RSA_BITS.min} to ${RSA_BITS.max} bits, or ECDSA on ${curves}`)
}

function checkDates(certificates: readonly X509Certificate[], now: number) {
  for (const [index, { validFromDate, validToDate }] of certificates.entries()) {
    const which = index === 0 ? 'the certificate' : `certificate ${index + 1} of the chain`
    if (validToDate.getTime() <= now)
      refuse('chain', `has expired: ${which} was valid until ${validToDate.toISOString()}`)
    if (validFromDate.getTime() > now) {
      refuse('chain', `is not valid yet: ${which} is valid from ${validFromDate.toISOString()}`)
    }
  }
}

function checkOrder(certificates: readonly X509Certificate[]) {
  for (const [index, certificate] of certificates.slice(0, -1).entries()) {
    const issuer = certificates[index + 1] as X509Certificate
    if (!certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey)) {
      const [one, next] = [index + 1, index + 2]
      refuse(
        'chain',
        `is not in order: certificate ${next} did not issue certificate ${one}; put the leaf first, then each issuer`,
      )
    }
  }
}

/** The DNS names in lower case. Node puts an entry with unusual characters in quotes; those match no host name. */
function namesOf({ subjectAltName = '' }: X509Certificate): string[] {
  const found = subjectAltName.split(', ').flatMap((entry) => {
    const name = entry.startsWith('DNS:') ? entry.slice(4).toLowerCase() : ''
    return /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/.test(name) && name.length <= 253 ? name : []
  })
  return [...new Set(found)]
}

const describe = (certificates: readonly X509Certificate[], names: string[]): ReadChain => {
  const [leaf] = certificates as [X509Certificate]
  return {
    chain: certificates.map((certificate) => certificate.toString()).join(''),
    names,
    notBefore: leaf.validFromDate.getTime(),
    notAfter: leaf.validToDate.getTime(),
    issuer: issuerOf(leaf),
  }
}

const ISSUER_LENGTH = 200

/** As in `O=Let's Encrypt, CN=E7`. */
const issuerOf = ({ issuer = '' }: X509Certificate): string =>
  issuer
    .split('\n')
    .filter((part) => /^(?:O|CN)=/.test(part))
    .join(', ')
    .replaceAll(/\p{C}/gu, ' ')
    .slice(0, ISSUER_LENGTH)

function authorityKeyIdentifier({ raw }: X509Certificate): Buffer | undefined {
  const value = extensionOf(raw, AUTHORITY_KEY_IDENTIFIER)
  return value && der.readAll(der.read(value).body).find(({ tag }) => tag === 0x80)?.body
}
