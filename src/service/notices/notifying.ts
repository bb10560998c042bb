/** Where notices are sent, and the leader's work of sending them. */
import type { Log } from '../../base/index.ts'
import type { Database } from '../../data-folder.ts'
import { createEgress } from '../../egress/index.ts'
import { createDeliveries, createNotificationTargets, createSend } from '../../notifications/index.ts'
import { egressRulesOf, mailServerOf } from '../../settings/notices.ts'
import type { Config } from '../../settings.ts'
import type { LeaderWork } from '../../storage/index.ts'
import type { Records } from '../records.ts'

type Parts = {
  config: Config
  log: Log
  database: Database
  records: Records
  /** Known once the API listens. */
  publicUrl(): string
}

export function assembleNotifying({ config, log, database, records, publicUrl }: Parts) {
  const { sql, clock, newId, accounts } = database
  const { targetRecords, outbox } = records
  const egress = createEgress(egressRulesOf(config))
  const mailServer = mailServerOf(config)
  const send = createSend({ clock, egress, mailServer })
  const notificationTargets = createNotificationTargets({
    sql,
    clock,
    newId,
    records: targetRecords,
    outbox,
    egress,
    send,
    hasMailServer: mailServer !== undefined,
    publicUrl,
  })
  const lead: LeaderWork = (term) =>
    createDeliveries({ sql, clock, log, accounts, targets: targetRecords, outbox, send, term, publicUrl }).start()
  return { egress, notificationTargets, lead }
}

export type Notifying = ReturnType<typeof assembleNotifying>
