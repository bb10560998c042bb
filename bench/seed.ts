/** Environments in a data folder that no service has opened yet. */
import { openDatabase } from '../src/data-folder.ts'
import { statement } from '../src/storage/index.ts'

export const ACCOUNT = 'default'

/** As they are after their creation: with a host label, and with a finished operation. Returns their ids by app. */
export async function seedEnvironments<App extends string>(
  dataDir: string,
  counts: Record<App, number>,
): Promise<Record<App, string[]>> {
  const { sql, accounts, apps, environments, operations } = await openDatabase(dataDir)
  await accounts.create(ACCOUNT)
  const account = await accounts.byName(ACCOUNT)
  const draft = { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms', rootDirectory: '', variables: [] }
  const made: [string, string[]][] = []
  for (const [name, count] of Object.entries<number>(counts)) {
    const app = await apps.create(account.id, name, 'regions/EU-W')
    const ids = Array.from({ length: count }, () => environments.newId())
    await sql.transaction(async (tx) => {
      await Promise.all(
        ids.map(async (id, index) => {
          await environments.insert(tx, { id: app.id, accountId: account.id }, id, draft)
          await operations.request(tx, { accountId: account.id, appName: name, environmentId: id }, 'CREATE')
          await tx.query(statement`UPDATE environments SET host_label = ${`${name}-${index}`} WHERE id = ${id}`)
        }),
      )
      await tx.query(statement`UPDATE operations SET done_time = create_time, phase = 'DONE', response = '{}'`)
    })
    made.push([name, ids])
  }
  await sql.close()
  return Object.fromEntries(made) as Record<App, string[]>
}
