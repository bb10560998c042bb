/** The settings of what the service sends to others by itself, and what they come to. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Secret } from '../base/index.ts'
import type { MailServer } from '../notifications/index.ts'
import { parseEmail, parseHosts, type Setting, setting } from '../setting-texts.ts'

export type NoticeConfig = {
  egressHosts: string[]
  smtpUrl: string | undefined
  smtpFrom: string | undefined
  smtpUser: string
  smtpPassword: Secret | undefined
  smtpCaFile: string | undefined
}

export const NOTICE_SETTINGS: { [K in keyof NoticeConfig]: Setting<NoticeConfig[K]> } = {
  egressHosts: setting(
    '',
    'Hosts that the service may call for tenants (notices, statuses of commits) although they are on this machine or in a private network, also over plain HTTP, separated by commas: `chat.example.com`, `*.example.com` for all names below it, each with `:port` where it is not the usual one. If none is given, it calls only https addresses in the internet.',
    parseHosts,
  ),
  smtpUrl: setting(
    '',
    'Mail server for notices by e-mail: `smtp://mail.example.com:587` with STARTTLS, which is required unless the server is on this machine, or `smtps://mail.example.com:465`. If none is given, no e-mail is sent.',
    parseSmtpUrl,
  ),
  smtpFrom: setting('', 'Address that these e-mails come from.', parseEmail),
  smtpUser: setting('', 'User at that mail server; if none is given, it is used without a log-in.', (text) => text),
  smtpPassword: {
    ...setting('', 'Its password.', (text) => (text ? new Secret(text) : undefined)),
    isSecret: true,
  },
  smtpCaFile: setting(
    '',
    'PEM file with certificates that the mail server is checked against, in place of those that Node knows; for a CA of your own.',
    (text) => (text === '' ? undefined : resolve(text)),
  ),
}

/** Undefined where no e-mail is sent. */
export function mailServerOf(config: NoticeConfig): MailServer | undefined {
  const { smtpUrl, smtpFrom, smtpUser, smtpPassword, smtpCaFile } = config
  if (smtpUrl === undefined || smtpFrom === undefined) return undefined
  const { protocol, hostname, port } = new URL(smtpUrl)
  const isTlsFromStart = protocol === 'smtps:'
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || (isTlsFromStart ? 465 : 587)),
    isTlsFromStart,
    from: smtpFrom,
    user: smtpUser,
    password: smtpPassword,
    ca: smtpCaFile === undefined ? undefined : readFileSync(smtpCaFile, 'utf8'),
  }
}

function parseSmtpUrl(text: string): string | undefined {
  if (text === '') return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^smtps?:$/.test(url.protocol) || !url.hostname || !/^\/?$/.test(url.pathname) || url.search || url.hash)
    throw new Error('it must be the address of a mail server, as in smtp://mail.example.com:587')
  if (url.username || url.password)
    throw new Error('it must have no user and no password: they are the settings smtpUser and smtpPassword')
  return text
}

/** What `createEgress` takes: which hosts the service calls for tenants. */
export const egressRulesOf = (
  config: NoticeConfig & { publicAddresses: string[]; blockedNetworks: string[]; dnsServers: string[] },
) => ({
  allowedHosts: config.egressHosts,
  ownAddresses: config.publicAddresses,
  blockedNetworks: config.blockedNetworks,
  dnsServers: config.dnsServers,
})
