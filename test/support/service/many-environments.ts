/** Fills an account with apps and environments, through the modules, in the database of a running service. */
import { createApps, createEnvironments } from '../../../src/apps/index.ts'
import { createIds, systemClock } from '../../../src/base/index.ts'
import { readArchives } from '../../../src/builds/index.ts'
import { Problem } from '../../../src/contract/index.ts'
import { createOperations } from '../../../src/operations/index.ts'
import { statement } from '../../../src/storage/index.ts'
import type { TestService } from './service.ts'

const DRAFT = { branch: 'uploadable', cmsEnvironment: 'cms', rootDirectory: '', variables: [] }

/** Three environments to an app; the last build of every tenth failed. None of them is ever served. */
export async function fillAccount(service: TestService, count: number, account = 'default') {
  const sql = await service.openSql()
  try {
    const parts = { sql, clock: systemClock, newId: createIds(systemClock) }
    const [apps, environments] = [createApps(parts), createEnvironments(parts)]
    const operations = createOperations({ ...parts, readDescriptions: readArchives })
    const [owner] = await sql.query<{ id: string }>(statement`SELECT id FROM accounts WHERE name = ${account}`)
    const accountId = owner?.id ?? ''
    for (let made = 0; made < count; ) {
      const app = await apps.create(accountId, `site-${String(made).padStart(3, '0')}`, 'regions/EU-W')
      for (const displayName of ['Production', 'Staging', 'Preview'].slice(0, count - made)) {
        const id = parts.newId()
        const path = { accountId, appName: app.name, environmentId: id }
        const hasFailed = made % 10 === 0
        await sql.transaction(async (tx) => {
          await environments.insert(tx, { id: app.id, accountId }, id, { ...DRAFT, displayName })
          await operations.record(tx, {
            path,
            trigger: 'CREATE',
            requestedBy: null,
            finish: async () => ({ response: {} }),
          })
          if (hasFailed)
            await operations.record(tx, {
              path,
              trigger: 'UPLOAD',
              requestedBy: null,
              finish: async () => ({ error: new Problem('BUILD_SCRIPT_FAILED') }),
            })
          const made = await environments.byId(tx, id)
          if (made) await environments.assignHostLabel(tx, made)
        })
        made++
      }
    }
  } finally {
    await sql.close()
  }
}
