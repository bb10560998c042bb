/**
 * The networks from which users have logged in: there they are known, whatever attackers do from other networks. A
 * network is forgotten when it was unused for long, when many others were used after it, and when the password changes.
 */
import type { Clock } from '../base/index.ts'
import { type Sql, statement, type Transaction } from '../storage/index.ts'

export const KNOWN_NETWORKS = { perUser: 20, keptMs: 90 * 24 * 60 * 60 * 1000 } as const

export function createKnownNetworks({ sql, clock }: { sql: Sql; clock: Clock }) {
  return {
    async isKnown(email: string, network: string): Promise<boolean> {
      const [found] = await sql.query(statement`
        SELECT k.network FROM known_networks k JOIN users u ON u.id = k.user_id
        WHERE u.email = ${email} AND k.network = ${network} AND k.last_time > ${clock.now() - KNOWN_NETWORKS.keptMs}`)
      return found !== undefined
    },

    async remember(tx: Transaction, userId: string, network: string) {
      const now = clock.now()
      await tx.query(statement`
        INSERT INTO known_networks (user_id, network, last_time) VALUES (${userId}, ${network}, ${now})
        ON CONFLICT (user_id, network) DO UPDATE SET last_time = ${now}`)
      await tx.query(statement`
        DELETE FROM known_networks WHERE user_id = ${userId} AND network NOT IN (
          SELECT network FROM known_networks
          WHERE user_id = ${userId} AND last_time > ${now - KNOWN_NETWORKS.keptMs}
          ORDER BY last_time DESC LIMIT ${KNOWN_NETWORKS.perUser})`)
    },

    forget: forgetNetworks,
  }
}

export async function forgetNetworks(tx: Transaction, userId: string) {
  await tx.query(statement`DELETE FROM known_networks WHERE user_id = ${userId}`)
}
