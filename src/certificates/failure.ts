/** Why a certificate could not be got, in words: those of the CA, and what to do. */
import type { resources } from '../contract/index.ts'
import { AcmeProblem, CaUnreachable } from './acme/problem.ts'
import { CertificateRefused } from './x509/chain.ts'

/**
 * How long it takes until another attempt makes sense depends on who has to do something: DNS records are changed by the owner
 * of the name, a refused NAME is limited by the CA, and a CA that has a problem of its own is back soon.
 */
export type FailureKind = 'DNS' | 'NAME' | 'CA'

export type Failure = {
  kind: FailureKind
  type: string
  detail: string
  action: string
  /** The CA asks not to be asked again before. */
  retryAfterMs?: number | undefined
}

export type StoredFailure = Omit<Failure, 'retryAfterMs'> & { time: number; retryTime?: number }

/** Records of a name that lead elsewhere. */
export function dnsFailure(name: string, { state, addresses }: resources.DnsCheck): Failure {
  const found = addresses.join(', ')
  const words: Partial<Record<resources.DnsState, Pick<Failure, 'type' | 'detail'>>> = {
    NOWHERE: { type: 'noAddress', detail: `${name} has no public address in DNS.` },
    NO_ANSWER: { type: 'dnsUnanswered', detail: `No DNS server answered for ${name}.` },
    PARTLY: { type: 'leadsElsewhere', detail: `${name} leads here and elsewhere: ${found}.` },
  }
  return {
    kind: 'DNS',
    ...(words[state] ?? { type: 'leadsElsewhere', detail: `${name} leads elsewhere: ${found}.` }),
    action:
      'Enter the DNS records that the page of the domain shows, and remove other A and AAAA records. The certificate is got by itself when the name leads here.',
  }
}

export class DnsHookFailed extends Error {}

/** Undefined for a fault of the service itself, which is no matter of a name. */
export function failureOf(error: unknown, name: string): Failure | undefined {
  if (error instanceof AcmeProblem) return caFailure(error, name)
  if (error instanceof CaUnreachable) {
    return { kind: 'CA', type: 'unreachable', detail: error.message, action: UNREACHABLE }
  }
  if (error instanceof DnsHookFailed) {
    return {
      kind: 'NAME',
      type: 'dnsHook',
      detail: error.message,
      action: 'The operator corrects the command of the setting acmeDnsHook.',
    }
  }
  if (error instanceof CertificateRefused) {
    return {
      kind: 'CA',
      type: 'badCertificate',
      detail: `What the CA issued ${error.message}.`,
      action: 'The operator asks the CA.',
    }
  }
  return undefined
}

const UNREACHABLE =
  'It is tried again by itself. If it lasts, the operator checks the settings acmeDirectory and acmeCaFile, and the network.'

function caFailure({ type, detail, status, retryAfterMs }: AcmeProblem, name: string): Failure {
  const isOfCa = status >= 500 || OF_CA.has(type)
  return {
    kind: isOfCa ? 'CA' : 'NAME',
    type,
    detail: detail || 'The CA gave no details.',
    action: ACTIONS[type]?.(name) ?? 'It is tried again by itself. If it lasts, ask the operator.',
    retryAfterMs,
  }
}

const OF_CA: ReadonlySet<string> = new Set(['serverInternal', 'badNonce', 'accountDoesNotExist', 'orderNotReady'])

const ACTIONS: Readonly<Record<string, (name: string) => string>> = {
  dns: (name) => `Check the DNS records of ${name}: the CA found no address, or its DNS servers did not answer.`,
  connection: (name) =>
    `Let connections from the internet to this machine through, on port 80 or 443, and check that all addresses of ${name} are this machine's, IPv6 too.`,
  unauthorized: (name) =>
    `The CA reached a server that is not this one. Check that all addresses of ${name} are this machine's, IPv6 too, and that no proxy in front answers /.well-known/acme-challenge/.`,
  incorrectResponse: (name) =>
    `The CA reached a server that is not this one. Check all addresses of ${name}, IPv6 too.`,
  tls: (name) => `The CA could not connect by TLS. Check that no proxy in front of ${name} ends TLS on port 443.`,
  caa: (name) =>
    `A CAA record of ${name}, or of a domain above it, allows other CAs only. Add this CA, or remove the record.`,
  rateLimited: () => 'Wait: the CA limits how often it issues. It is tried again by itself.',
  rejectedIdentifier: (name) =>
    `The CA does not issue certificates for ${name}. Use another name, or upload a certificate.`,
  unsupportedIdentifier: (name) =>
    `The CA does not issue certificates for ${name}. Use another name, or upload a certificate.`,
  malformed: () => 'It is tried again by itself. If it lasts, the operator reports it.',
  externalAccountRequired: () => 'The operator sets acmeEabKeyId and acmeEabKey to what the CA gave.',
  invalidContact: () => 'The operator corrects the setting acmeEmail.',
  unsupportedContact: () => 'The operator corrects the setting acmeEmail.',
  userActionRequired: () => 'The operator follows what the CA asks for.',
  unsupportedChallenge: () =>
    'The operator names a challenge that the CA offers in the setting acmeChallenge, or sets acmeDnsHook.',
}
