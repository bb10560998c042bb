/**
 * Limits how many streams are open: followed events, followed logs, and logs that are being read. Each costs reads of
 * the database and of files as long as it is open, so there is a limit for each caller, each account and the whole
 * service. A new stream beyond it is refused, since ending an old one would take it from its reader.
 */
import { LIMITS, Problem } from '../../contract/index.ts'
import type { RouteCall } from '../route.ts'

export type StreamKind = 'events' | 'logs'

type Reader = Pick<RouteCall<unknown, unknown>, 'principal' | 'account' | 'reply'>

type Bound = { key: string; max: number; of: 'caller' | 'account' | 'service'; message: string }

export function createOpenStreams() {
  const open = new Map<string, number>()

  return {
    /** Counts one more stream until its connection is closed. */
    enter({ principal, account, reply }: Reader, kind: StreamKind) {
      const bounds = boundsOf(principal.caller, account.id, kind)
      for (const { key, max, of, message } of bounds) {
        if ((open.get(key) ?? 0) < max) continue
        throw new Problem('TOO_MANY_STREAMS', message, { metadata: { limit: String(max), of }, retryAfterSeconds: 30 })
      }
      // The client may have closed the connection while its access was checked; then no event follows.
      if (reply.raw.destroyed) return
      for (const { key } of bounds) open.set(key, (open.get(key) ?? 0) + 1)
      reply.raw.once('close', () => {
        for (const { key } of bounds) leave(key)
      })
    },
    count: (): number => open.get(SERVICE) ?? 0,
  }

  function leave(key: string) {
    const left = (open.get(key) ?? 1) - 1
    if (left > 0) open.set(key, left)
    else open.delete(key)
  }
}

export type OpenStreams = ReturnType<typeof createOpenStreams>

const SERVICE = 'service'

function boundsOf(caller: string, accountId: string, kind: StreamKind): Bound[] {
  const ofCaller = kind === 'events' ? LIMITS.eventStreams : LIMITS.logStreams
  return [
    {
      key: `${kind} ${caller}`,
      max: ofCaller,
      of: 'caller',
      message: `This user or credential has ${ofCaller} streams of ${kind} open. Close some, or share one.`,
    },
    {
      key: `account ${accountId}`,
      max: LIMITS.accountStreams,
      of: 'account',
      message: `The account has ${LIMITS.accountStreams} streams of events and logs open. Close some: perhaps a program opens them and does not read to the end.`,
    },
    {
      key: SERVICE,
      max: LIMITS.serviceStreams,
      of: 'service',
      message: `The service has ${LIMITS.serviceStreams} streams of events and logs open, of all accounts. Try again later, or read the log as text.`,
    },
  ]
}
