/**
 * Certificates in the database. A name that is got by ACME has one row for as long as it is wanted; the process that works on it
 * has a lease on the row, and every step that it records is refused once the lease is another process's, or the row is gone.
 */
import { type Clock, isProcessGone, type NewId } from '../../base/index.ts'
import { LIMITS, Problem } from '../../contract/index.ts'
import { type Sql, type Statement, statement, type Transaction, type Vault } from '../../storage/index.ts'
import type { ChallengeType } from '../acme/client.ts'
import type { WantedName } from '../names.ts'
import type { Scheduled } from '../schedule.ts'
import type { ReadChain } from '../x509/chain.ts'
import { readsOf } from './reads.ts'
import { type CertificateRecord, type CertificateRow, columns, keyPlace, notify, toRecord } from './record.ts'
import { reconcile } from './wanted.ts'

type Parts = {
  sql: Sql
  clock: Clock
  newId: NewId
  vault: Vault
  owner: string
  /** Refuses what only the leader may write, unless this process leads. */
  checkTerm?: (tx: Transaction) => Promise<void>
}

export const LEASE_MS = 60_000
/** Names of one account in one round, so that all accounts have their turn. */
const PER_ACCOUNT = 8
const PER_ROUND = 64

/** Another process works on the name, or it is not wanted any more. */
export class LeaseLost extends Error {}

export type ScheduleChange = Partial<Omit<Scheduled, 'notBefore' | 'notAfter'>>

export function createCertificateRecords(parts: Parts) {
  const { sql, vault } = parts
  const open = (id: string, sealed: string): string => vault.open(sealed, keyPlace(id))

  return {
    seal: (id: string, key: string): string => vault.seal(key, keyPlace(id)),

    /** The private key of the certificate, as PEM. */
    keyOf: ({ id, sealedKey }: CertificateRecord): string => open(id, sealedKey ?? ''),

    /** The private key of the order that is under way. */
    orderKeyOf: ({ id, sealedOrderKey }: CertificateRecord): string => open(id, sealedOrderKey ?? ''),

    ...readsOf(sql),
    ...claimsOf(parts),
    ...stepsOf(parts),
    ...uploadsOf(parts),

    /** Records which names are wanted from now on. `directory`: the CA that issues for them. */
    reconcile: (wanted: readonly WantedName[], directory: string): Promise<void> => reconcile(parts, wanted, directory),
  }
}

export type CertificateRecords = ReturnType<typeof createCertificateRecords>

function claimsOf({ sql, clock, owner, checkTerm }: Parts) {
  return {
    /** Those that are due and that no process works on, a few of each account. */
    async due(): Promise<CertificateRecord[]> {
      const now = clock.now()
      const rows = await sql.query<
        CertificateRow & { lease_owner: string | null; lease_until: number | null }
      >(statement`
        SELECT ${columns}, lease_owner, lease_until FROM (
          SELECT ${columns}, lease_owner, lease_until,
            ROW_NUMBER() OVER (PARTITION BY account_id ORDER BY next_time, id) AS place
          FROM certificates WHERE next_time <= ${now} AND wanted = 1) AS waiting
        WHERE place <= ${PER_ACCOUNT} ORDER BY place, next_time LIMIT ${PER_ROUND}`)
      return rows.filter((row) => isFree(row, now)).map(toRecord)
    },

    /** The record as it is now; undefined if another process has it, or it is not due any more. */
    async claim(id: string): Promise<CertificateRecord | undefined> {
      const now = clock.now()
      return sql.transaction(async (tx) => {
        await checkTerm?.(tx)
        const [row] = await tx.query<CertificateRow & { lease_owner: string | null; lease_until: number | null }>(
          statement`SELECT ${columns}, lease_owner, lease_until FROM certificates
            WHERE id = ${id} AND wanted = 1 AND next_time <= ${now}`,
        )
        if (!row || !isFree(row, now)) return undefined
        await tx.query(
          statement`UPDATE certificates SET lease_owner = ${owner}, lease_until = ${now + LEASE_MS} WHERE id = ${id}`,
        )
        return toRecord(row)
      })
    },

    async renewLease(id: string) {
      await sql.transaction((tx) =>
        tx.query(statement`UPDATE certificates SET lease_until = ${clock.now() + LEASE_MS}
          WHERE id = ${id} AND lease_owner = ${owner}`),
      )
    },

    async release(id: string) {
      await sql.transaction((tx) =>
        tx.query(statement`UPDATE certificates SET lease_owner = NULL, lease_until = NULL
          WHERE id = ${id} AND lease_owner = ${owner}`),
      )
    },
  }
}

/** A lease that ends later than any can is of a clock that was set back. */
const isFree = (row: { lease_owner: string | null; lease_until: number | null }, now: number): boolean =>
  row.lease_owner === null ||
  row.lease_until === null ||
  row.lease_until < now ||
  row.lease_until > now + 2 * LEASE_MS ||
  isProcessGone(row.lease_owner)

/** Each is one step of an order, on disk when it resolves. */
function stepsOf({ sql, clock, owner, checkTerm }: Parts) {
  async function step(id: string, set: Statement) {
    await sql.transaction(async (tx) => {
      await checkTerm?.(tx)
      const [changed] = await tx.query<{ account_id: string | null }>(statement`
        UPDATE certificates SET ${set}, update_time = ${clock.now()}
        WHERE id = ${id} AND lease_owner = ${owner} AND wanted = 1 RETURNING account_id`)
      if (!changed) throw new LeaseLost(`certificate ${id} is not ours any more`)
      notify(tx, changed.account_id, id)
    })
  }

  return {
    /** The key is on disk before the order: what is issued for it can always be used. */
    beginOrder: (id: string, at: { sealedKey: string; directory: string; state: Scheduled['state'] }) =>
      step(
        id,
        statement`sealed_order_key = ${at.sealedKey}, directory = ${at.directory}, state = ${at.state}, order_url = NULL`,
      ),

    ordered: (id: string, orderUrl: string) => step(id, statement`order_url = ${orderUrl}`),

    /** The order is over, or of no use. */
    forgetOrder: (id: string) => step(id, statement`order_url = NULL, sealed_order_key = NULL`),

    dnsRecord: (id: string, value: string | null) => step(id, statement`dns_record = ${value}`),

    convinced: (id: string, challenge: ChallengeType) => step(id, statement`challenge = ${challenge}`),

    schedule: (id: string, change: ScheduleChange) => step(id, assignments(change)),

    /** The certificate replaces the one before, with the key of its order. */
    issued: (id: string, { chain, issuer, notBefore, notAfter }: ReadChain, change: ScheduleChange) =>
      step(
        id,
        statement`chain = ${chain}, issuer = ${issuer}, not_before = ${notBefore}, not_after = ${notAfter},
          sealed_key = sealed_order_key, sealed_order_key = NULL, order_url = NULL, ${assignments(change)}`,
      ),
  }
}

function assignments(change: ScheduleChange): Statement {
  const { state, attempts, nextTime, failure, renewTime, renewalInfoTime } = change
  const parts = [
    ...(state === undefined ? [] : [statement`state = ${state}`]),
    ...(attempts === undefined ? [] : [statement`attempts = ${attempts}`]),
    ...(nextTime === undefined ? [] : [statement`next_time = ${nextTime}`]),
    ...(failure === undefined ? [] : [statement`failure = ${failure === null ? null : JSON.stringify(failure)}`]),
    ...(renewTime === undefined ? [] : [statement`renew_time = ${renewTime}`]),
    ...(renewalInfoTime === undefined ? [] : [statement`renewal_info_time = ${renewalInfoTime}`]),
  ]
  return parts.reduce((before, part) => statement`${before}, ${part}`)
}

function uploadsOf({ sql, clock, newId, vault }: Parts) {
  return {
    async upload(accountId: string | null, { key, ...read }: ReadChain & { key: string }): Promise<CertificateRecord> {
      const id = newId()
      const now = clock.now()
      return sql.transaction(async (tx) => {
        const [count] = await tx.query<{ n: number }>(statement`
          SELECT COUNT(*) AS n FROM certificates WHERE source = 'UPLOADED' AND account_id ${is(accountId)}`)
        if ((count?.n ?? 0) >= LIMITS.uploadedCertificates) throw tooMany()
        const [row] = await tx.query<CertificateRow>(statement`
          INSERT INTO certificates (id, source, account_id, names, state, chain, sealed_key, issuer, not_before, not_after,
            create_time, update_time)
          VALUES (${id}, 'UPLOADED', ${accountId}, ${JSON.stringify(read.names)}, 'ISSUED', ${read.chain},
            ${vault.seal(key, keyPlace(id))}, ${read.issuer}, ${read.notBefore}, ${read.notAfter}, ${now}, ${now})
          RETURNING ${columns}`)
        notify(tx, accountId, id, read.names)
        return toRecord(row as CertificateRow)
      })
    },

    async remove(accountId: string | null, id: string) {
      await sql.transaction(async (tx) => {
        const [found] = await tx.query<{ source: string; names: string }>(
          statement`SELECT source, names FROM certificates WHERE id = ${id} AND account_id ${is(accountId)} AND wanted = 1`,
        )
        if (!found) throw new Problem('CERTIFICATE_NOT_FOUND')
        if (found.source !== 'UPLOADED') throw new Problem('CERTIFICATE_OF_SERVICE')
        await tx.query(statement`DELETE FROM certificates WHERE id = ${id}`)
        notify(tx, accountId, id, JSON.parse(found.names) as string[])
      })
    },

    /** It is due now, if it waits for another attempt. */
    async retry(accountId: string | null, id: string) {
      await sql.transaction(async (tx) => {
        const [due] = await tx.query<{ names: string }>(statement`UPDATE certificates SET next_time = ${clock.now()}
          WHERE id = ${id} AND account_id ${is(accountId)} AND source = 'ACME' AND state <> 'ISSUED' RETURNING names`)
        if (due) notify(tx, accountId, id, JSON.parse(due.names) as string[])
      })
    },
  }
}

const is = (accountId: string | null): Statement =>
  accountId === null ? statement`IS NULL` : statement`= ${accountId}`

const tooMany = (): Problem =>
  new Problem(
    'ACCOUNT_LIMIT',
    `The account may have ${LIMITS.uploadedCertificates} uploaded certificates. Delete those that are no longer needed.`,
    { metadata: { kind: 'CERTIFICATES', limit: String(LIMITS.uploadedCertificates) } },
  )
