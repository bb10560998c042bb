/**
 * Certificates in the database. A name that is got by ACME has one row for as long as it is wanted; the process that works on it
 * has a lease on the row, and every step that it records is refused once the lease is another process's, or the row is gone.
 */
import { type Clock, isProcessGone, type NewId } from '../../base/index.ts'
import { LIMITS, Problem } from '../../contract/index.ts'
import {
  list,
  type Page,
  type PageOf,
  pageOf,
  type Reader,
  type Sql,
  type Statement,
  statement,
  type Transaction,
  type Vault,
} from '../../storage/index.ts'
import type { ChallengeType } from '../acme/client.ts'
import type { WantedName } from '../names.ts'
import type { Scheduled } from '../schedule.ts'
import type { ReadChain } from '../x509/chain.ts'
import {
  type CertificateHead,
  type CertificateRecord,
  type CertificateRow,
  columns,
  keyPlace,
  toRecord,
} from './record.ts'

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
  const { sql, clock, vault } = parts
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
    async reconcile(wanted: readonly WantedName[], directory: string) {
      const now = clock.now()
      // Most of the time nothing has changed, and then nothing is written.
      if (isReconciled(await sql.query<Known>(knownNames), { wanted, directory, now })) return
      await sql.transaction(async (tx) => {
        await parts.checkTerm?.(tx)
        await reconcile(tx, { wanted, directory, now, newId: parts.newId })
      })
    },
  }
}

export type CertificateRecords = ReturnType<typeof createCertificateRecords>

type HeadRow = Pick<CertificateRow, 'id' | 'source' | 'account_id' | 'names' | 'not_before' | 'not_after'> & {
  version: string | null
}

function readsOf(sql: Sql) {
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
        notify(tx, accountId, id)
        return toRecord(row as CertificateRow)
      })
    },

    async remove(accountId: string | null, id: string) {
      await sql.transaction(async (tx) => {
        const [found] = await tx.query<{ source: string }>(
          statement`SELECT source FROM certificates WHERE id = ${id} AND account_id ${is(accountId)} AND wanted = 1`,
        )
        if (!found) throw new Problem('CERTIFICATE_NOT_FOUND')
        if (found.source !== 'UPLOADED') throw new Problem('CERTIFICATE_OF_SERVICE')
        await tx.query(statement`DELETE FROM certificates WHERE id = ${id}`)
        notify(tx, accountId, id)
      })
    },

    /** It is due now, if it waits for another attempt. */
    async retry(accountId: string | null, id: string) {
      await sql.transaction(async (tx) => {
        await tx.query(statement`UPDATE certificates SET next_time = ${clock.now()}
          WHERE id = ${id} AND account_id ${is(accountId)} AND source = 'ACME' AND state <> 'ISSUED'`)
        notify(tx, accountId, id)
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

function notify(tx: Transaction, accountId: string | null, id: string) {
  if (accountId !== null) tx.notify(accountId, `certificates/${id}`)
}

type Goal = { wanted: readonly WantedName[]; directory: string; now: number }

type Known = {
  id: string
  acme_name: string
  account_id: string | null
  wanted: number
  directory: string | null
  not_after: number | null
}

const knownNames = statement`
  SELECT id, acme_name, account_id, wanted, directory, not_after FROM certificates WHERE source = 'ACME'`

function isReconciled(rows: readonly Known[], { wanted, directory, now }: Goal): boolean {
  const names = new Map(wanted.map((each) => [each.name, each]))
  const isRight = (row: Known): boolean => {
    const name = names.get(row.acme_name)
    if (!name) return row.wanted === 0 && row.not_after !== null && row.not_after > now
    const isOfCa = row.directory === null || row.directory === directory
    return row.wanted === 1 && row.account_id === name.accountId && isOfCa
  }
  return rows.filter(({ acme_name }) => names.has(acme_name)).length === wanted.length && rows.every(isRight)
}

async function reconcile(tx: Transaction, { wanted, directory, now, newId }: Goal & { newId: NewId }) {
  const rows = await tx.query<Known>(knownNames)
  const known = new Map(rows.map((row) => [row.acme_name, row]))
  for (const { name, accountId } of wanted) {
    const row = known.get(name)
    known.delete(name)
    if (!row) await insert(tx, { id: newId(), name, accountId, now })
    else await keep(tx, row, { accountId, directory, now })
  }
  const isValid = ({ not_after }: Known) => not_after !== null && not_after > now
  const gone = [...known.values()]
  for (const { id, account_id } of gone.filter(({ wanted }) => wanted === 1)) notify(tx, account_id, id)
  const hidden = gone.filter((row) => row.wanted === 1 && isValid(row)).map(({ id }) => id)
  const useless = gone.filter((row) => !isValid(row)).map(({ id }) => id)
  for (const some of chunks(hidden)) {
    await tx.query(statement`UPDATE certificates SET wanted = 0, lease_owner = NULL WHERE id IN (${list(some)})`)
  }
  for (const some of chunks(useless)) await tx.query(statement`DELETE FROM certificates WHERE id IN (${list(some)})`)
}

type Inserted = { id: string; name: string; accountId: string | null; now: number }

async function insert(tx: Transaction, { id, name, accountId, now }: Inserted) {
  await tx.query(statement`
    INSERT INTO certificates (id, source, account_id, names, acme_name, state, next_time, create_time, update_time)
    VALUES (${id}, 'ACME', ${accountId}, ${JSON.stringify([name])}, ${name}, 'PENDING', ${now}, ${now}, ${now})`)
  notify(tx, accountId, id)
}

type Kept = { accountId: string | null; directory: string; now: number }

async function keep(tx: Transaction, row: Known, { accountId, directory, now }: Kept) {
  if (row.account_id !== accountId || row.wanted !== 1) {
    notify(tx, row.account_id, row.id)
    await tx.query(statement`UPDATE certificates SET account_id = ${accountId}, wanted = 1,
      next_time = CASE WHEN state = 'ISSUED' THEN next_time ELSE ${now} END WHERE id = ${row.id}`)
    notify(tx, accountId, row.id)
  }
  // The operator has chosen another CA. What was ordered at the one before is of no use.
  if (row.directory !== null && row.directory !== directory) {
    const state = row.not_after !== null && row.not_after > now ? 'RENEWING' : 'PENDING'
    await tx.query(statement`UPDATE certificates SET directory = ${directory}, order_url = NULL, sealed_order_key = NULL,
      state = ${state}, failure = NULL, attempts = 0, next_time = ${now} WHERE id = ${row.id}`)
    notify(tx, accountId, row.id)
  }
}

const CHUNK = 200

function* chunks(ids: readonly string[]): Generator<string[]> {
  for (let at = 0; at < ids.length; at += CHUNK) yield ids.slice(at, at + CHUNK)
}
