/** Claiming the next operation costs about the same however many wait. */
import { join } from 'node:path'
import { openDatabase } from '../src/data-folder.ts'
import { createClaims } from '../src/operations/claim.ts'
import { type Sql, statement } from '../src/storage/index.ts'
import { type Bench, IS_QUICK, median } from './bench.ts'
import { temporaryFolder } from './service.ts'

const MANY = { accounts: 20, waiting: 10_000 }
const FEW = { accounts: 5, waiting: 10 }

const [ROUNDS, CLAIMS] = IS_QUICK ? [1, 5] : [5, 40]

export const claim: Bench = {
  name: 'claim',
  what: `a claim where ${MANY.waiting} operations of ${MANY.accounts} accounts wait, beside one where ${FEW.waiting} do`,
  noise: `CPU time by the kernel for each claim, many and few in turns, medians of ${ROUNDS} rounds`,
  async run() {
    await using folder = await temporaryFolder()
    const [many, few] = [await queueOf(join(folder.path, 'many'), MANY), await queueOf(join(folder.path, 'few'), FEW)]
    const costs = { many: [] as number[], few: [] as number[] }
    for (let round = 0; round <= ROUNDS; round++) {
      // The first is a warm-up.
      const [ofMany, ofFew] = [await costOf(many), await costOf(few)]
      if (round === 0) continue
      costs.many.push(ofMany)
      costs.few.push(ofFew)
    }
    await Promise.all([many.sql.close(), few.sql.close()])
    return [
      {
        what: 'CPU per claim',
        unit: 'µs',
        ours: median(costs.many),
        peer: median(costs.few),
        goal: { of: 'ratio', max: 5 },
      },
    ]
  },
}

type Queue = Awaited<ReturnType<typeof queueOf>>

/** Waiting builds of as many environments, and the queue that claims them. */
async function queueOf(dataDir: string, { accounts: count, waiting }: typeof MANY) {
  const { sql, clock, accounts, operations, newId } = await openDatabase(dataDir)
  const owners: string[] = []
  for (let index = 0; index < count; index++) owners.push((await accounts.create(`account-${index}`)).id)
  await sql.transaction(async (tx) => {
    const places = Array.from({ length: waiting }, (_, index) => owners[index % count] as string)
    await Promise.all(
      places.map((accountId) => {
        const path = { accountId, appName: 'shop', environmentId: newId() }
        return operations.request(tx, path, 'UPLOAD', { queue: 'build', build: newId() })
      }),
    )
  })
  const places = { quick: 8, light: 2, build: 8 }
  return {
    sql,
    claims: createClaims({
      sql,
      clock,
      owner: 'bench',
      concurrency: places,
      hasSeveralAccounts: accounts.areSeveral,
    }),
  }
}

/** In microseconds; a claimed operation is put back, so that each claim finds the same queue. */
async function costOf({ sql, claims }: Queue): Promise<number> {
  let spent = 0
  for (let count = 0; count < CLAIMS; count++) {
    const before = process.cpuUsage()
    const taken = await claims.next(['quick', 'build'])
    const { user, system } = process.cpuUsage(before)
    if (!taken) throw new Error('there was nothing to claim')
    spent += user + system
    await putBack(sql)
  }
  return spent / CLAIMS
}

const putBack = (sql: Sql) =>
  sql.transaction((tx) =>
    tx.query(statement`
      UPDATE operations SET lease_owner = NULL, lease_until = NULL, attempts = 0
      WHERE done_time IS NULL AND lease_owner IS NOT NULL`),
  )
