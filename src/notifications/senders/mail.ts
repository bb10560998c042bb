/** Sends e-mail by the operator's mail server. The library is loaded with the first one. */
import { isIP } from 'node:net'
import { type Clock, createBuckets, printableLine, type Secret } from '../../base/index.ts'
import { LIMITS } from '../../contract/index.ts'
import { MAX_ERROR_LENGTH, type Result } from './result.ts'

export type MailServer = {
  host: string
  port: number
  /** Otherwise STARTTLS. */
  isTlsFromStart: boolean
  from: string
  user: string
  password: Secret | undefined
  /** In place of the certificates that Node knows. */
  ca: string | undefined
}

export type Mail = { id: string; accountId: string; to: readonly string[]; subject: string; text: string }

/** Of each step; the whole must end within the lease of a delivery. */
const CONNECT_MS = 10_000
const ANSWER_MS = 15_000

export function createMailSender({ clock, server }: { clock: Clock; server: MailServer }) {
  const buckets = createBuckets(clock)
  let transport: Promise<Transport> | undefined

  return async ({ id, accountId, to, subject, text }: Mail): Promise<Result> => {
    // A tenant chooses whom the operator's server writes to, so the number is bounded.
    const rate = { atOnce: LIMITS.emailsAnHour, perSecond: LIMITS.emailsAnHour / 3600 }
    const waitMs = buckets.take(accountId, to.length, rate)
    if (waitMs > 0) {
      const error = 'The account has sent many e-mails in the last hour.'
      return { isDelivered: false, mayPass: true, isPostponed: true, pauseMs: waitMs, error }
    }
    transport ??= openTransport(server)
    try {
      const { rejected } = await (await transport).sendMail({
        from: server.from,
        to: to.map((address) => ({ name: '', address })),
        subject: printableLine(subject),
        text,
        // The same at every try, so that a mail that arrives twice is shown once.
        messageId: `<${id}@${server.from.split('@').at(-1)}>`,
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        disableFileAccess: true,
        disableUrlAccess: true,
      })
      if (rejected.length === 0) return { isDelivered: true }
      return { isDelivered: true, error: shown(`The mail server refused ${rejected.length} of the addresses.`) }
    } catch (error) {
      const { responseCode, code, message } = error as SmtpError
      // What is wrong with the log-in or with TLS is for the operator to mend.
      const isForGood = (responseCode ?? 0) >= 500 && code !== 'EAUTH' && code !== 'ETLS'
      return { isDelivered: false, mayPass: !isForGood, error: shown(message) }
    }
  }
}

export type SendMail = ReturnType<typeof createMailSender>

type SmtpError = Error & { code?: string; responseCode?: number }

const shown = (text: string): string => printableLine(text).slice(0, MAX_ERROR_LENGTH)

type Transport = Awaited<ReturnType<typeof openTransport>>

async function openTransport({ host, port, isTlsFromStart, user, password, ca }: MailServer) {
  const { createTransport } = await import('nodemailer')
  const mayBePlain = isLoopback(host) && ca === undefined
  return createTransport({
    host,
    port,
    secure: isTlsFromStart,
    requireTLS: !mayBePlain,
    ...(user === '' ? {} : { auth: { user, pass: password?.reveal() ?? '' } }),
    tls: {
      // A server on this machine often has a certificate of its own making.
      rejectUnauthorized: !mayBePlain,
      ...(ca === undefined ? {} : { ca }),
      ...(isIP(host) ? {} : { servername: host }),
    },
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: ANSWER_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/.test(host)
