/** Whether custom host names lead to this service, and with which certificate they are answered, as the API shows it. */
import { array, object, oneOf, optional, type Static, string, time } from '../schema.ts'

export const DNS_STATES = ['CHECKING', 'HERE', 'PARTLY', 'ELSEWHERE', 'NOWHERE', 'NO_ANSWER', 'UNKNOWN'] as const
export type DnsState = (typeof DNS_STATES)[number]

export const CERTIFICATE_STATES = [
  'NOT_CHECKED',
  'VALID',
  'EXPIRED',
  'NOT_YET_VALID',
  'WRONG_NAME',
  'SELF_SIGNED',
  'UNTRUSTED',
  'MISSING',
  'NO_ANSWER',
] as const
export type CertificateState = (typeof CERTIFICATE_STATES)[number]

const dnsCheck = object(
  {
    state: oneOf(DNS_STATES, {
      description:
        'CHECKING: ask again in a moment. HERE: all addresses are those of this service; PARTLY: some are; ELSEWHERE: none is. NOWHERE: the name has no public address. NO_ANSWER: no DNS server answered in time. UNKNOWN: the service does not know its own public addresses (`publicAddresses`).',
    }),
    addresses: array(string(), {
      description: 'Public addresses that DNS has for the name; private ones are left out unless they are our own.',
    }),
  },
  { title: 'DnsCheck' },
)
export type DnsCheck = Static<typeof dnsCheck>

const certificateCheck = object(
  {
    state: oneOf(CERTIFICATE_STATES, {
      description:
        'As a visitor from this machine finds it. NOT_CHECKED: the name does not lead here, so nothing was asked. MISSING: the proxy answers without a certificate for the name. NO_ANSWER: nothing answers by TLS at our own address.',
    }),
    issuer: optional(string({ description: 'Who issued it.' })),
    validUntil: optional(time('When it ends.')),
  },
  { title: 'CertificateCheck' },
)
export type CertificateCheck = Static<typeof certificateCheck>

const domainCheck = object(
  {
    domain: string(),
    dns: dnsCheck,
    certificate: certificateCheck,
    checkTime: optional(time('When it was looked at; absent while it is being checked.')),
  },
  { title: 'DomainCheck' },
)
export type DomainCheck = Static<typeof domainCheck>

const dnsRecord = object(
  {
    type: oneOf(['A', 'AAAA', 'CNAME'], { description: 'The top of a zone, as `example.com`, cannot have a CNAME.' }),
    value: string(),
  },
  { title: 'DnsRecord' },
)
export type DnsRecord = Static<typeof dnsRecord>

export const domainChecks = object(
  {
    checks: array(domainCheck, { description: 'One for each custom host name, in the order of the list.' }),
    records: array(dnsRecord, {
      description:
        'What to enter in DNS: the CNAME, or all A and AAAA. Without A and AAAA, the service does not know its own addresses.',
    }),
  },
  { title: 'DomainChecks' },
)
export type DomainChecks = Static<typeof domainChecks>
