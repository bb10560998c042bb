import type { TestContext } from 'node:test'
import { lineLogsSuite } from '../../../../test/suites/line-logs.ts'
import { recordLogsSuite } from '../../../../test/suites/record-logs.ts'
import { migratedSql } from '../../../../test/support/sql.ts'
import { systemClock } from '../../../base/index.ts'
import { type Sql, StorageUnavailable } from '../../sql/sql.ts'
import { readHead } from './heads.ts'
import { createSharedLogs } from './shared-logs.ts'

const open = async (t: TestContext) => createSharedLogs({ sql: await migratedSql(t), clock: systemClock })

lineLogsSuite('rows', {
  open,
  async openUnwritable(t) {
    const sql = await migratedSql(t)
    let isFull = true
    const full: Sql = {
      ...sql,
      transaction: (work, options) =>
        isFull ? Promise.reject(new StorageUnavailable('the disk is full')) : sql.transaction(work, options),
    }
    return {
      logs: createSharedLogs({ sql: full, clock: systemClock }),
      async mend() {
        isFull = false
      },
    }
  },
})

recordLogsSuite('rows', async (t) => {
  const sql = await migratedSql(t)
  const logs = createSharedLogs({ sql, clock: systemClock })
  async function parts() {
    const head = await readHead(sql, 'requests/e1')
    const found: ('newer' | 'older')[] = []
    if (head && head.open_bytes > 0) found.push('newer')
    if (head && head.closed_bytes > 0) found.push('older')
    return found
  }
  return { logs, parts }
})
