/** Sends a message to a target, in the form and the way of its kind. */
import type { Clock } from '../../base/index.ts'
import type { resources } from '../../contract/index.ts'
import type { Egress } from '../../egress/index.ts'
import type { TargetRecord } from '../../notices/index.ts'
import { toDiscord } from '../formats/discord.ts'
import { toEmail } from '../formats/email.ts'
import type { Message } from '../formats/message.ts'
import { toSlack } from '../formats/slack.ts'
import { toTeams } from '../formats/teams.ts'
import { toWebhook } from '../formats/webhook.ts'
import { createHttpSender } from './http.ts'
import { createMailSender, type MailServer } from './mail.ts'
import type { Result } from './result.ts'
import { webhookHeaders } from './signature.ts'

type Parts = {
  clock: Clock
  egress: Pick<Egress, 'send'>
  /** Undefined where the operator has set none. */
  mailServer: MailServer | undefined
}

const FORMATS: Record<Exclude<resources.TargetKind, 'EMAIL'>, (message: Message) => object> = {
  WEBHOOK: toWebhook,
  SLACK: toSlack,
  DISCORD: toDiscord,
  TEAMS: toTeams,
}

export function createSend({ clock, egress, mailServer }: Parts) {
  const sendByHttp = createHttpSender({ egress, now: () => clock.now() })
  const sendMail = mailServer && createMailSender({ clock, server: mailServer })

  return async (target: TargetRecord, message: Message, signal: AbortSignal): Promise<Result> => {
    const { kind, accountId, address } = target
    if (kind === 'EMAIL') {
      if (!sendMail) return { isDelivered: false, error: 'The service has no mail server (the setting smtpUrl).' }
      return sendMail({ id: message.id, accountId, to: address.addresses ?? [], ...toEmail(message) })
    }
    const body = JSON.stringify(FORMATS[kind](message))
    const headers =
      kind === 'WEBHOOK' ? webhookHeaders({ id: message.id, time: clock.now(), body }, secretsOf(target, clock)) : {}
    return sendByHttp({ url: address.url ?? '', body, headers, signal })
  }
}

export type Send = ReturnType<typeof createSend>

/** For a while after a new one was made, the one before is good, too. */
function secretsOf({ address: { secret, earlier } }: TargetRecord, clock: Clock): string[] {
  const isGood = earlier !== undefined && earlier.until > clock.now()
  return [...(secret === undefined ? [] : [secret]), ...(isGood ? [earlier.secret] : [])]
}
