/** Certificates as they are read: in lists, in short, with their chains. */
import { Problem } from '../../contract/index.ts'
import {
  list,
  type Page,
  type PageOf,
  pageOf,
  type Reader,
  type Sql,
  type Statement,
  statement,
} from '../../storage/index.ts'
import type { ChallengeType } from '../acme/client.ts'
import {
  type CertificateHead,
  type CertificateRecord,
  type CertificateRow,
  chunks,
  columns,
  toRecord,
} from './record.ts'

type HeadRow = Pick<CertificateRow, 'id' | 'source' | 'account_id' | 'names' | 'not_before' | 'not_after'> & {
  version: string | null
}

export type DoubtfulCertificate = Pick<
  CertificateRecord,
  'id' | 'source' | 'accountId' | 'names' | 'state' | 'attempts' | 'failure' | 'notAfter'
>

type DoubtfulRow = Pick<
  CertificateRow,
  'id' | 'source' | 'account_id' | 'names' | 'state' | 'attempts' | 'failure' | 'not_after'
>

export function readsOf(sql: Sql) {
  const select = async (condition: Statement, reader: Reader = sql): Promise<CertificateRecord[]> =>
    (await reader.query<CertificateRow>(statement`SELECT ${columns} FROM certificates WHERE ${condition}`)).map(
      toRecord,
    )

  return {
    /** All that are wanted or uploaded, of one account or of all, with those of the operator; the oldest first. */
    async heads(accountId?: string): Promise<CertificateHead[]> {
      const mine =
        accountId === undefined ? statement`1 = 1` : statement`(account_id = ${accountId} OR account_id IS NULL)`
      const rows = await sql.query<HeadRow>(statement`
        SELECT id, source, account_id, names, not_before, not_after,
          substr(sealed_key, length(sealed_key) - 15) AS version
        FROM certificates WHERE wanted = 1 AND ${mine} ORDER BY id`)
      return rows.map((row) => ({
        id: row.id,
        source: row.source,
        accountId: row.account_id,
        names: JSON.parse(row.names),
        notBefore: row.not_before,
        notAfter: row.not_after,
        hasChain: row.version !== null,
        version: row.version ?? '',
      }))
    },

    /** With their chains, the oldest first. */
    async whole(ids: readonly string[]): Promise<CertificateRecord[]> {
      const found: CertificateRecord[] = []
      for (const some of chunks(ids)) found.push(...(await select(statement`id IN (${list(some)}) ORDER BY id`)))
      return found
    },

    /** Uploaded ones, and those that could not be got: among them are all that may fail visitors soon. Without their chains. */
    async doubtful(): Promise<DoubtfulCertificate[]> {
      const rows = await sql.query<DoubtfulRow>(statement`
        SELECT id, source, account_id, names, state, attempts, failure, not_after FROM certificates
        WHERE wanted = 1 AND (source = 'UPLOADED' OR failure IS NOT NULL) ORDER BY id`)
      return rows.map((row) => ({
        id: row.id,
        source: row.source,
        accountId: row.account_id,
        names: JSON.parse(row.names),
        state: row.state,
        attempts: row.attempts,
        failure: row.failure === null ? null : JSON.parse(row.failure),
        notAfter: row.not_after,
      }))
    },

    ofOperator: (): Promise<CertificateRecord[]> => select(statement`wanted = 1 AND account_id IS NULL ORDER BY id`),

    async list(accountId: string, page: Page): Promise<PageOf<CertificateRecord>> {
      return pageOf(
        await select(statement`account_id = ${accountId} AND wanted = 1 AND ${page.after} ${page.order}`),
        page,
      )
    },

    async require(accountId: string, id: string, reader: Reader = sql): Promise<CertificateRecord> {
      const [found] = await select(statement`id = ${id} AND account_id = ${accountId} AND wanted = 1`, reader)
      if (!found) throw new Problem('CERTIFICATE_NOT_FOUND')
      return found
    },

    /** How the CA was convinced last, of any name: what works for one works for the next one. */
    async lastChallenge(): Promise<ChallengeType | undefined> {
      const [row] = await sql.query<{ challenge: ChallengeType }>(statement`
        SELECT challenge FROM certificates WHERE challenge IN ('http-01', 'tls-alpn-01') AND not_before IS NOT NULL
        ORDER BY not_before DESC LIMIT 1`)
      return row?.challenge
    },
  }
}
