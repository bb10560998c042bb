/** Which accounts want to be told of what, and of which lasting conditions they were told. */
import type { resources } from '../contract/index.ts'
import { type Reader, type Sql, statement } from '../storage/index.ts'

/** Apart from those of failed builds. */
export const conditionKey = (dedupeKey: string): string => `of ${dedupeKey}`

export function createConditionRecords({ sql }: { sql: Sql }) {
  return {
    /** Whether the account has a target to which anything is sent. */
    async hasTargets(reader: Reader, accountId: string): Promise<boolean> {
      const found = await reader.query(statement`
        SELECT id FROM notification_targets WHERE account_id = ${accountId} AND is_enabled = 1 LIMIT 1`)
      return found.length > 0
    },

    /** The accounts with a target that takes this kind. */
    async wanting(kind: resources.NoticeKind): Promise<Set<string>> {
      const rows = await sql.query<{ account_id: string; notice_kinds: string }>(
        statement`SELECT account_id, notice_kinds FROM notification_targets WHERE is_enabled = 1`,
      )
      const isTaken = (kinds: string) => (JSON.parse(kinds) as string[]).includes(kind)
      return new Set(rows.filter(({ notice_kinds }) => isTaken(notice_kinds)).map(({ account_id }) => account_id))
    },

    /** Conditions that are not over, and whose keys begin with this text. */
    async open(prefix: string): Promise<{ accountId: string; dedupeKey: string }[]> {
      const begin = conditionKey(prefix)
      const rows = await sql.query<{ account_id: string; dedupe_key: string }>(
        statement`SELECT account_id, dedupe_key FROM notice_conditions WHERE dedupe_key LIKE ${`${begin}%`}`,
      )
      return rows
        .filter(({ dedupe_key }) => dedupe_key.startsWith(begin))
        .map(({ account_id, dedupe_key }) => ({
          accountId: account_id,
          dedupeKey: dedupe_key.slice(conditionKey('').length),
        }))
    },
  }
}

export type ConditionRecords = ReturnType<typeof createConditionRecords>
