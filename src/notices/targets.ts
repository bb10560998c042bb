/** The rows of notification targets. Where a notice is sent is sealed: the URL of a chat is all that one needs to write there. */
import type { NewId } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import {
  type Page,
  type PageOf,
  pageOf,
  type Reader,
  type Sql,
  statement,
  type Transaction,
  type Vault,
} from '../storage/index.ts'
import { endWaiting } from './outbox.ts'

/** What users set. */
export type TargetSettings = {
  displayName: string
  kind: resources.TargetKind
  address: TargetAddress
  noticeKinds: resources.NoticeKind[]
  apps: string[]
  isEnabled: boolean
}

export type TargetAddress = {
  /** Of all but e-mail. */
  url?: string
  /** Of e-mail. */
  addresses?: string[]
  /** Of a webhook: the key of its signatures, and the one before, which signs too for a while. */
  secret?: string
  earlier?: { secret: string; until: number }
}

export type TargetRecord = TargetSettings & {
  id: string
  accountId: string
  disabledReason: resources.DisabledReason | null
  createTime: number
  updateTime: number
}

type Row = {
  id: string
  account_id: string
  display_name: string
  kind: resources.TargetKind
  sealed_address: string
  notice_kinds: string
  apps: string
  is_enabled: number
  disabled_reason: resources.DisabledReason | null
  create_time: number
  update_time: number
}

const columns = statement`id, account_id, display_name, kind, sealed_address, notice_kinds, apps, is_enabled, disabled_reason,
  create_time, update_time`

const placeOf = (id: string): string => `notificationTargets/${id}/address`

export function createTargetRecords({ sql, vault, newId }: { sql: Sql; vault: Vault; newId: NewId }) {
  const seal = (id: string, address: TargetAddress) => vault.seal(JSON.stringify(address), placeOf(id))

  function toRecord(row: Row): TargetRecord {
    return {
      id: row.id,
      accountId: row.account_id,
      displayName: row.display_name,
      kind: row.kind,
      address: JSON.parse(vault.open(row.sealed_address, placeOf(row.id))),
      noticeKinds: JSON.parse(row.notice_kinds),
      apps: JSON.parse(row.apps),
      isEnabled: row.is_enabled === 1,
      disabledReason: row.disabled_reason,
      createTime: row.create_time,
      updateTime: row.update_time,
    }
  }

  async function find(reader: Reader, accountId: string, id: string): Promise<TargetRecord | undefined> {
    const [row] = await reader.query<Row>(
      statement`SELECT ${columns} FROM notification_targets WHERE id = ${id} AND account_id = ${accountId}`,
    )
    return row && toRecord(row)
  }

  async function require(reader: Reader, accountId: string, id: string): Promise<TargetRecord> {
    const found = await find(reader, accountId, id)
    if (!found) throw new Problem('NOTIFICATION_TARGET_NOT_FOUND')
    return found
  }

  return {
    find,
    require,

    async list(accountId: string, page: Page): Promise<PageOf<TargetRecord>> {
      const rows = await sql.query<Row>(statement`
        SELECT ${columns} FROM notification_targets WHERE account_id = ${accountId} AND ${page.after} ${page.order}`)
      return pageOf(rows.map(toRecord), page)
    },

    async count(reader: Reader, accountId: string): Promise<number> {
      const [row] = await reader.query<{ count: number }>(
        statement`SELECT COUNT(*) AS count FROM notification_targets WHERE account_id = ${accountId}`,
      )
      return row?.count ?? 0
    },

    async insert(tx: Transaction, accountId: string, given: TargetSettings, now: number): Promise<TargetRecord> {
      const id = newId()
      const { displayName, kind, address, noticeKinds, apps, isEnabled } = given
      await tx.query(statement`
        INSERT INTO notification_targets
          (id, account_id, display_name, kind, sealed_address, notice_kinds, apps, is_enabled, create_time, update_time)
        VALUES (${id}, ${accountId}, ${displayName}, ${kind}, ${seal(id, address)}, ${JSON.stringify(noticeKinds)},
          ${JSON.stringify(apps)}, ${Number(isEnabled)}, ${now}, ${now})`)
      tx.notify(accountId, `notificationTargets/${id}`, { title: displayName })
      return require(tx, accountId, id)
    },

    /** The kind stays. One that is switched on again has no reason any more why the service switched it off. */
    async update(
      tx: Transaction,
      { id, accountId, disabledReason }: TargetRecord,
      changed: TargetSettings,
      now: number,
    ): Promise<TargetRecord> {
      const { displayName, address, noticeKinds, apps, isEnabled } = changed
      await tx.query(statement`
        UPDATE notification_targets SET display_name = ${displayName}, sealed_address = ${seal(id, address)},
          notice_kinds = ${JSON.stringify(noticeKinds)}, apps = ${JSON.stringify(apps)}, is_enabled = ${Number(isEnabled)},
          disabled_reason = ${isEnabled ? null : disabledReason}, update_time = ${now}
        WHERE id = ${id}`)
      if (!isEnabled) await endWaiting(tx, id, now)
      tx.notify(accountId, `notificationTargets/${id}`, { title: displayName })
      return require(tx, accountId, id)
    },

    /** The service switches it off. */
    async disable(tx: Transaction, { id, accountId }: TargetRecord, reason: resources.DisabledReason, now: number) {
      await tx.query(statement`
        UPDATE notification_targets SET is_enabled = 0, disabled_reason = ${reason}, update_time = ${now} WHERE id = ${id}`)
      await endWaiting(tx, id, now)
      tx.notify(accountId, `notificationTargets/${id}`)
    },

    /** With its deliveries. */
    async remove(tx: Transaction, { id, accountId, displayName }: TargetRecord) {
      await tx.query(statement`DELETE FROM notification_targets WHERE id = ${id}`)
      tx.notify(accountId, `notificationTargets/${id}`, { title: displayName })
    },
  }
}

export type TargetRecords = ReturnType<typeof createTargetRecords>
