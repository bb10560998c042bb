/** Certificates of an account: for which names, from where, and what is being done about them. */
import * as schema from '../schema.ts'

export const ISSUANCE_STATES = ['PENDING', 'WAITING_FOR_DNS', 'ISSUED', 'RENEWING', 'FAILED', 'EXPIRED'] as const
export type IssuanceState = (typeof ISSUANCE_STATES)[number]

export const CERTIFICATE_SOURCES = ['ACME', 'UPLOADED'] as const
export type CertificateSource = (typeof CERTIFICATE_SOURCES)[number]

export const certificateFailure = schema.object(
  {
    type: schema.string({
      description:
        'What went wrong: a problem type of the CA such as rateLimited, connection, unauthorized or caa (RFC 8555, section 6.7), or one of the service: leadsElsewhere, noAddress, dnsUnanswered, unreachable, dnsHook.',
    }),
    detail: schema.string({ description: "The CA's own words, if it refused; otherwise what the service found." }),
    action: schema.string({ description: 'What to do about it.' }),
    time: schema.time('When it failed.'),
  },
  { title: 'CertificateFailure' },
)
export type CertificateFailure = schema.Static<typeof certificateFailure>

export const certificate = schema.object(
  {
    name: schema.string({ description: 'accounts/{account}/certificates/{certificate}' }),
    names: schema.array(schema.string(), {
      description: 'The host names that it is for. An uploaded one may have a wildcard.',
    }),
    usedFor: schema.array(schema.string(), {
      description: 'The host names of the account that are answered with it now.',
    }),
    source: schema.oneOf(CERTIFICATE_SOURCES, {
      description: 'ACME: got and renewed by the service. UPLOADED: by the account, which also replaces it in time.',
    }),
    state: schema.oneOf(ISSUANCE_STATES, {
      description:
        'PENDING: is being got. WAITING_FOR_DNS: the name does not lead here yet. ISSUED: is used. RENEWING: is used, and the next one is being got. FAILED: there is none; `failure` tells why. EXPIRED: an uploaded one whose time is over.',
    }),
    notBefore: schema.optional(schema.time('From when it is valid.')),
    notAfter: schema.optional(schema.time('Until when it is valid.')),
    issuer: schema.optional(schema.string({ description: 'Who issued it.' })),
    nextAttemptTime: schema.optional(schema.time('When the service gets it, tries again or renews it.')),
    failure: schema.optional(certificateFailure),
    warning: schema.optional(
      schema.string({ description: 'What needs attention, such as an upload that expires soon.' }),
    ),
    createTime: schema.time('When the name was first wanted, or the certificate was uploaded.'),
  },
  { title: 'Certificate' },
)
export type Certificate = schema.Static<typeof certificate>

export const newCertificate = schema.object(
  {
    chain: schema.string({
      maxLength: 65_536,
      description: 'The certificate as PEM, then its issuers in order. The root may be left out.',
    }),
    privateKey: schema.string({
      maxLength: 16_384,
      description:
        'Its private key as PEM, without a password: RSA with 2,048 to 4,096 bits, or ECDSA on P-256 or P-384.',
    }),
  },
  { title: 'NewCertificate' },
)
export type NewCertificate = schema.Static<typeof newCertificate>
