/** Sends certificates and challenges to the edges: all of them to one that connects, and then what changes. */
import { randomBytes } from 'node:crypto'
import { type Clock, settlesWithin } from '../../base/index.ts'
import type { EdgeCertificate, EdgeChallenges, EdgeTls } from '../tls/types.ts'
import type { EdgeMember } from './member.ts'
import type { CertificatesMessage } from './messages.ts'

type Parts = {
  clock: Clock
  edges: { serving(): readonly EdgeMember[]; onConnected(listener: (member: EdgeMember) => void): unknown }
}

/** An edge that does not confirm within this time is not waited for. */
const CONFIRMED_MS = 10_000

const TICKET_SECRET_BYTES = 32

export function createEdgeTls({ clock, edges }: Parts): EdgeTls {
  /** Undefined until they were read: until then, edges use those that they have saved. */
  let certificates: readonly EdgeCertificate[] | undefined
  let challenges: EdgeChallenges = { http: {}, alpn: {} }
  const ticketSecret = randomBytes(TICKET_SECRET_BYTES).toString('base64')

  edges.onConnected((member) => {
    const connection = member.connection()
    if (certificates) connection?.notify('setCertificates', wholeOf(certificates))
    connection?.notify('setChallenges', challenges)
  })

  const wholeOf = (all: readonly EdgeCertificate[]): CertificatesMessage => ({
    set: all,
    removed: [],
    isWhole: true,
    ticketSecret,
  })

  /** One that is lost gets everything when it connects again. */
  async function untilConfirmed(send: (member: EdgeMember) => Promise<void> | undefined) {
    const confirmed = edges.serving().map((member) => send(member)?.catch(() => undefined))
    await settlesWithin(clock, Promise.all(confirmed), CONFIRMED_MS)
  }

  return {
    async setCertificates(next) {
      const message = certificates ? { ...changesOf(certificates, next), isWhole: false, ticketSecret } : wholeOf(next)
      certificates = next
      if (message.set.length === 0 && message.removed.length === 0 && !message.isWhole) return
      await untilConfirmed((member) => member.connection()?.call('setCertificates', message))
    },
    async setChallenges(next) {
      challenges = next
      await untilConfirmed((member) => member.connection()?.call('setChallenges', next))
    },
  }
}

function changesOf(before: readonly EdgeCertificate[], after: readonly EdgeCertificate[]) {
  const known = new Map(before.map((certificate) => [certificate.id, contentOf(certificate)]))
  const kept = new Set(after.map(({ id }) => id))
  return {
    set: after.filter((certificate) => known.get(certificate.id) !== contentOf(certificate)),
    removed: before.filter(({ id }) => !kept.has(id)).map(({ id }) => id),
  }
}

const contentOf = ({ names, chain, staple }: EdgeCertificate): string => [...names, chain, staple?.response].join('\n')
