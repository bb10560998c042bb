/** The settings of certificates that are got by ACME. */
import { resolve } from 'node:path'
import { Secret } from '../base/index.ts'
import {
  countOrNone,
  oneOf,
  parseCommand,
  parseDirectory,
  parseEmail,
  type Setting,
  setting,
} from '../setting-texts.ts'

/** How names are proven to the CA; `auto` uses the one that works. */
const ACME_CHALLENGES = ['auto', 'http-01', 'tls-alpn-01'] as const
type AcmeChallenge = (typeof ACME_CHALLENGES)[number]

export type CertificateConfig = {
  acmeEmail: string | undefined
  acmeDirectory: string
  acmeCaFile: string | undefined
  acmeChallenge: AcmeChallenge
  acmeDnsHook: readonly [file: string, ...args: string[]] | undefined
  acmeDnsWait: number
  acmeEabKeyId: string
  acmeEabKey: Secret | undefined
}

export const CERTIFICATE_SETTINGS: { [K in keyof CertificateConfig]: Setting<CertificateConfig[K]> } = {
  acmeEmail: setting(
    '',
    'E-mail address for the account at the certificate authority (CA); if one is given, certificates are got and renewed by ACME, and the terms of the CA are accepted.',
    parseEmail,
  ),
  acmeDirectory: setting(
    'https://acme-v02.api.letsencrypt.org/directory',
    "Address of the CA's ACME directory.",
    parseDirectory,
  ),
  acmeCaFile: setting(
    '',
    "PEM file with certificates that the CA's own server is checked against, beside those that Node knows; for a CA of your own.",
    (text) => (text === '' ? undefined : resolve(text)),
  ),
  acmeChallenge: setting(
    'auto',
    `How names are proven to the CA: one of ${ACME_CHALLENGES.join(', ')}. HTTP-01 needs port 80, TLS-ALPN-01 port 443; \`auto\` uses the one that works.`,
    (text) => oneOf(ACME_CHALLENGES, text),
  ),
  acmeDnsHook: setting(
    '',
    'Program that changes DNS for DNS-01, as a path or as a JSON list of a path and arguments; called with `add` or `remove`, the name and the value of a TXT record. If one is given, all environments share one wildcard certificate.',
    parseCommand,
  ),
  acmeDnsWait: setting('30', 'Seconds from the end of that program until the CA is asked to look.', countOrNone),
  acmeEabKeyId: setting(
    '',
    'Key id of the external account, for CAs that have contracts with their customers.',
    (text) => text,
  ),
  acmeEabKey: {
    ...setting('', 'Its HMAC key in base64url.', (text) => (text ? new Secret(text) : undefined)),
    isSecret: true,
  },
}
