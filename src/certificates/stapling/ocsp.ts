/** OCSP (RFC 6960): asks whether one certificate was revoked, and reads the answer, which is used only if its signature is right. */
import { createHash, verify, X509Certificate } from 'node:crypto'
import * as der from '../x509/der.ts'
import { extensionOf, identityOf } from '../x509/fields.ts'

/** A certificate that asks for stapling: servers must send the answer with it (RFC 7633). */
export function asksForStapling(leaf: X509Certificate): boolean {
  const features = extensionOf(leaf.raw, TLS_FEATURE)
  return features !== undefined && der.readAll(der.read(features).body).some(({ body }) => body.equals(STATUS_REQUEST))
}

/** Whether the first certificate of a chain in PEM could ask for it. There may be thousands, so they are not parsed for that. */
export function mayAskForStapling(chain: string): boolean {
  // A block of PEM is `-----BEGIN …-----`, base64, `-----END …-----`.
  const [, , base64 = ''] = chain.split('-----', 3)
  return Buffer.from(base64, 'base64').includes(TLS_FEATURE_BYTES)
}

const TLS_FEATURE = '1.3.6.1.5.5.7.1.24'
const TLS_FEATURE_BYTES = der.oid(TLS_FEATURE)
/** The TLS extension `status_request`. */
const STATUS_REQUEST = Buffer.from([5])

/** Where a certificate says that it can be asked about. */
export function responderOf({ infoAccess = '' }: X509Certificate): string | undefined {
  return /^OCSP - URI:(http:\/\/\S{1,2000})$/m.exec(infoAccess)?.[1]
}

export function ocspRequest(leaf: X509Certificate, issuer: X509Certificate): Buffer {
  return der.sequence(der.sequence(der.sequence(der.sequence(certificateId(leaf, issuer)))))
}

/** With SHA-1, which all responders know; it only names the issuer. */
function certificateId(leaf: X509Certificate, issuer: X509Certificate): Buffer {
  const { serial, issuer: name } = identityOf(leaf.raw)
  const hash = (bytes: Buffer) => der.octets(createHash('sha1').update(bytes).digest())
  const algorithm = der.sequence(der.oid(SHA1), der.nothing())
  return der.sequence(algorithm, hash(name), hash(identityOf(issuer.raw).publicKey), serial)
}

const SHA1 = '1.3.14.3.2.26'

export type OcspAnswer = { status: 'GOOD' | 'REVOKED' | 'UNKNOWN'; thisUpdate: number; nextUpdate: number | undefined }

/** Why an answer is not used, in words. */
export class OcspRefused extends Error {}

const refuse = (message: string): never => {
  throw new OcspRefused(message)
}

/** Reads an answer about `leaf`, and throws an OcspRefused unless it is one that clients accept at this time. */
export function readOcspResponse(
  response: Buffer,
  { leaf, issuer, now }: { leaf: X509Certificate; issuer: X509Certificate; now: number },
): OcspAnswer {
  try {
    const { signed, algorithm, signature, certificates } = openResponse(response)
    const answer = findAnswer(signed, certificateId(leaf, issuer))
    checkDates(answer, now)
    const signers = [issuer, ...delegates(certificates, issuer, now)]
    const isSigned = signers.some(({ publicKey }) => verify(hashOf(algorithm), signed.raw, publicKey, signature))
    return isSigned ? answer : refuse('the signature of the answer is wrong')
  } catch (error) {
    // What is cut off or of another form cannot be read, and that is all there is to know.
    if (error instanceof RangeError) return refuse('the answer is damaged')
    throw error
  }
}

const SUCCESSFUL = 0
const BASIC = '1.3.6.1.5.5.7.48.1.1'

function openResponse(response: Buffer) {
  const [status, bytes] = der.readAll(der.read(response).body)
  const code = status?.body[0]
  if (code !== SUCCESSFUL) refuse(`the responder answered with ${STATUSES[code ?? -1] ?? 'an unknown status'}`)
  const [type, value] = der.readAll(der.read(bytes?.body ?? EMPTY).body)
  if (!type?.raw.equals(der.oid(BASIC)) || !value) return refuse('the answer is of an unknown type')
  const [signed, algorithm, signature, certificates] = der.readAll(der.read(value.body).body)
  if (!signed || !algorithm || !signature) return refuse('the answer is damaged')
  return {
    signed,
    algorithm: der.read(algorithm.body).raw,
    signature: signature.body.subarray(1),
    certificates: certificates ? der.readAll(der.read(certificates.body).body).map(({ raw }) => raw) : [],
  }
}

const EMPTY = Buffer.alloc(0)
const STATUSES: Readonly<Record<number, string>> = {
  1: 'malformedRequest',
  2: 'internalError',
  3: 'tryLater',
  5: 'sigRequired',
  6: 'unauthorized',
}

/** Tags of the choices in an answer. */
const STATUS_OF: Readonly<Record<number, OcspAnswer['status']>> = { 128: 'GOOD', 161: 'REVOKED', 130: 'UNKNOWN' }
const VERSION = 0xa0
const NEXT_UPDATE = 0xa0

function findAnswer({ body }: der.Element, id: Buffer): OcspAnswer {
  const fields = der.readAll(body)
  const answers = (fields[0]?.tag === VERSION ? fields.slice(1) : fields)[2]
  const wanted = withoutAlgorithm(der.read(id).body)
  for (const single of der.readAll(answers?.body ?? EMPTY)) {
    const [about, status, thisUpdate, ...others] = der.readAll(single.body)
    if (!about || !status || !thisUpdate || !withoutAlgorithm(about.body).equals(wanted)) continue
    const next = others.find(({ tag }) => tag === NEXT_UPDATE)
    return {
      status: STATUS_OF[status.tag] ?? refuse('the answer is damaged'),
      thisUpdate: timeOf(thisUpdate),
      nextUpdate: next && timeOf(der.read(next.body)),
    }
  }
  return refuse('the answer is about another certificate')
}

/** Some responders leave out the empty parameters of the algorithm. A hash of another algorithm differs anyway. */
const withoutAlgorithm = (id: Buffer): Buffer => id.subarray(der.read(id).end)

/** `20260102030405Z` */
function timeOf({ body }: der.Element): number {
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(body.toString('latin1'))
  if (!parts) return refuse('the answer is damaged')
  const [year, month, ...others] = parts.slice(1).map(Number) as [number, number, ...number[]]
  return Date.UTC(year, month - 1, ...others)
}

/** Clocks of responders may be a little ahead. */
const SKEW_MS = 5 * 60_000

function checkDates({ thisUpdate, nextUpdate }: OcspAnswer, now: number) {
  if (thisUpdate > now + SKEW_MS) refuse('the answer is not valid yet')
  if (nextUpdate !== undefined && nextUpdate <= now) refuse('the answer has expired')
}

const OCSP_SIGNING = '1.3.6.1.5.5.7.3.9'

/** Those whom the issuer lets sign answers in its name. */
function delegates(certificates: readonly Buffer[], issuer: X509Certificate, now: number): X509Certificate[] {
  return certificates.slice(0, MAX_DELEGATES).flatMap((raw) => {
    const certificate = readDelegate(raw)
    const maySign = (certificate.keyUsage as string[] | undefined)?.includes(OCSP_SIGNING) === true
    const isValid = certificate.validFromDate.getTime() <= now && certificate.validToDate.getTime() > now
    const isIssued = certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
    return maySign && isValid && isIssued ? certificate : []
  })
}

const MAX_DELEGATES = 4

function readDelegate(raw: Buffer): X509Certificate {
  try {
    return new X509Certificate(raw)
  } catch {
    return refuse('the answer is damaged')
  }
}

const HASHES: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
}

function hashOf(algorithm: Buffer): string {
  const found = Object.keys(HASHES).find((id) => algorithm.equals(der.oid(id)))
  return found === undefined ? refuse('the signature of the answer is of an unknown kind') : (HASHES[found] as string)
}
