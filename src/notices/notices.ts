/**
 * What happened, for those who want to be told. A notice is written in the transaction in which it happened, with one delivery for
 * each target that takes it; they are sent later.
 */
import { type Clock, type NewId, printable, printableLine } from '../base/index.ts'
import { LIMITS, names, type resources } from '../contract/index.ts'
import { rows, statement, type Transaction } from '../storage/index.ts'
import { conditionKey } from './conditions.ts'
import { keepNewest } from './outbox.ts'

export type NewNotice = {
  accountId: string
  kind: resources.NoticeKind
  /** None for notices about the account as a whole, which every target gets. */
  appName?: string
  environmentId?: string
  /** What it is about, by its name: `accounts/…/builds/…`. */
  resource: string
  /** One line. Longer ones are cut. */
  title: string
  /** Plain text, of any content. Longer ones are cut. */
  text: string
  /** Where to read more: an https address, or a path of the portal. */
  link?: string
  /** Of a condition that lasts: there is one notice until it is over. */
  dedupeKey?: string
}

type TargetRow = { id: string; notice_kinds: string; apps: string }

export function createNotices({ clock, newId }: { clock: Clock; newId: NewId }) {
  /** False if it is known already. */
  async function begin(tx: Transaction, of: Of, key: string): Promise<boolean> {
    const { accountId, environmentId = null } = of
    const begun = await tx.query(statement`
      INSERT INTO notice_conditions (account_id, dedupe_key, environment_id, create_time)
      VALUES (${accountId}, ${key}, ${environmentId}, ${clock.now()})
      ON CONFLICT (account_id, dedupe_key) DO NOTHING RETURNING dedupe_key`)
    return begun.length > 0
  }

  /** False if it was over already. */
  async function end(tx: Transaction, accountId: string, key: string): Promise<boolean> {
    const ended = await tx.query(statement`
      DELETE FROM notice_conditions WHERE account_id = ${accountId} AND dedupe_key = ${key} RETURNING dedupe_key`)
    return ended.length > 0
  }

  async function insert(tx: Transaction, notice: NewNotice, targets: readonly string[]) {
    const { accountId, kind, appName = null, environmentId = null, resource, link = null } = notice
    const [id, now] = [newId(), clock.now()]
    await tx.query(statement`
      INSERT INTO notices (id, account_id, kind, app_name, environment_id, resource, title, text, link, create_time)
      VALUES (${id}, ${accountId}, ${kind}, ${appName}, ${environmentId}, ${resource}, ${titleOf(notice)}, ${textOf(notice)},
        ${link}, ${now})`)
    const deliveries = targets.map((target) => [newId(), id, target, accountId, 'WAITING', 0, now, now])
    await tx.query(statement`
      INSERT INTO notification_deliveries (id, notice_id, target_id, account_id, state, attempts, next_time, create_time)
      VALUES ${rows(deliveries)}`)
    for (const target of targets) {
      await keepNewest(tx, target)
      tx.notify(accountId, `notificationTargets/${target}/deliveries`)
    }
  }

  return {
    /**
     * Part of the transaction in which it happened. Nothing is written where no target takes it. BUILD_RECOVERED is a notice only
     * after a BUILD_FAILED of its environment, and is to be recorded before BUILD_LIVE: a target that takes both gets the first.
     */
    async record(tx: Transaction, notice: NewNotice): Promise<void> {
      const { accountId, kind, environmentId = '', resource, dedupeKey } = notice
      const all = await tx.query<TargetRow>(statement`
        SELECT id, notice_kinds, apps FROM notification_targets WHERE account_id = ${accountId} AND is_enabled = 1`)
      if (all.length === 0) return
      const failing = `BUILD_FAILED ${environmentId}`
      if (kind === 'BUILD_FAILED') await begin(tx, notice, failing)
      if (kind === 'BUILD_RECOVERED' && !(await end(tx, accountId, failing))) return
      const informed = kind === 'BUILD_LIVE' ? await toldOfRecovery(tx, accountId, resource) : new Set()
      const targets = all.filter((target) => takes(target, notice) && !informed.has(target.id)).map(({ id }) => id)
      if (targets.length === 0) return
      if (dedupeKey !== undefined && !(await begin(tx, notice, conditionKey(dedupeKey)))) return
      await insert(tx, notice, targets)
    },

    /** A condition that lasted is over: the next one is a notice again. */
    async over(tx: Transaction, accountId: string, dedupeKey: string): Promise<void> {
      await end(tx, accountId, conditionKey(dedupeKey))
    },
  }
}

export type Notices = ReturnType<typeof createNotices>

type Of = Pick<NewNotice, 'accountId' | 'environmentId'>

function takes(target: TargetRow, { kind, appName }: NewNotice): boolean {
  const kinds = JSON.parse(target.notice_kinds) as string[]
  const apps = (JSON.parse(target.apps) as string[]).map(names.fold)
  return kinds.includes(kind) && (apps.length === 0 || appName === undefined || apps.includes(names.fold(appName)))
}

/** The targets that were told that this build is a recovery. */
async function toldOfRecovery(tx: Transaction, accountId: string, resource: string): Promise<Set<string>> {
  const found = await tx.query<{ target_id: string }>(statement`
    SELECT d.target_id FROM notices n JOIN notification_deliveries d ON d.notice_id = n.id
    WHERE n.account_id = ${accountId} AND n.resource = ${resource} AND n.kind = 'BUILD_RECOVERED'`)
  return new Set(found.map(({ target_id }) => target_id))
}

const titleOf = ({ title }: NewNotice): string => cut(printableLine(title), LIMITS.noticeTitleLength)
const textOf = ({ text }: NewNotice): string => cut(printable(text).trim(), LIMITS.noticeTextLength)

/** No half of a surrogate pair is left. */
const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`
