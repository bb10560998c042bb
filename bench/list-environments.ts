/** A page of environments costs the same however many the app has. */
import { openDatabase } from '../src/data-folder.ts'
import { statement } from '../src/storage/index.ts'
import type { Bench } from './bench.ts'
import { inTurns, TURNS } from './rounds.ts'
import { logIn, startService, temporaryFolder } from './service.ts'

const ACCOUNT = 'default'
const MANY = 10_000
const FEW = 10

export const listEnvironments: Bench = {
  name: 'list-environments',
  what: `a page of 10 environments of an app with ${MANY}, beside one of an app with ${FEW}`,
  noise: TURNS,
  async run() {
    await using folder = await temporaryFolder()
    await seed(folder.path)
    await using service = await startService(folder.path)
    const headers = await logIn(folder.path, ACCOUNT)
    const pageOf = (app: string) => ({
      url: `${service.api}/v1/accounts/${ACCOUNT}/apps/${app}/environments?pageSize=10`,
      pid: service.pid,
      headers,
    })
    const { many, few } = await inTurns({ many: pageOf('many'), few: pageOf('few') }, { connections: 32 })
    return [
      {
        what: 'CPU per request',
        unit: 'µs',
        ours: many.cpuMicrosecondsPerRequest,
        peer: few.cpuMicrosecondsPerRequest,
        goal: { of: 'ratio', max: 2 },
      },
      {
        what: 'requests',
        unit: '/s',
        ours: many.requestsPerSecond,
        peer: few.requestsPerSecond,
        goal: { of: 'ratio', min: 0.5 },
      },
    ]
  },
}

/** Environments as they are after their creation: with a host label, and with a finished operation. */
async function seed(dataDir: string) {
  const { sql, accounts, apps, environments, operations } = await openDatabase(dataDir)
  await accounts.create(ACCOUNT)
  const account = await accounts.byName(ACCOUNT)
  const draft = { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms', rootDirectory: '', variables: [] }
  for (const [name, count] of [
    ['few', FEW],
    ['many', MANY],
  ] as const) {
    const app = await apps.create(account.id, name, 'regions/EU-W')
    await sql.transaction(async (tx) => {
      const ids = Array.from({ length: count }, () => environments.newId())
      await Promise.all(
        ids.map(async (id, index) => {
          await environments.insert(tx, { id: app.id, accountId: account.id }, id, draft)
          await operations.request(tx, { accountId: account.id, appName: name, environmentId: id }, 'CREATE')
          await tx.query(statement`UPDATE environments SET host_label = ${`${name}-${index}`} WHERE id = ${id}`)
        }),
      )
      await tx.query(statement`UPDATE operations SET done_time = create_time, phase = 'DONE', response = '{}'`)
    })
  }
  await sql.close()
}
