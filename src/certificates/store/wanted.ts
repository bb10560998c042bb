/** Which names are wanted, and the rows that follow from it. */
import type { Clock, NewId } from '../../base/index.ts'
import { list, type Sql, statement, type Transaction } from '../../storage/index.ts'
import type { WantedName } from '../names.ts'
import { chunks, notify } from './record.ts'

type Parts = { sql: Sql; clock: Clock; newId: NewId; checkTerm?: (tx: Transaction) => Promise<void> }

/** Records which names are wanted from now on. `directory`: the CA that issues for them. */
export async function reconcile(
  { sql, clock, newId, checkTerm }: Parts,
  wanted: readonly WantedName[],
  directory: string,
) {
  const now = clock.now()
  // Most of the time nothing has changed, and then nothing is written.
  if (isReconciled(await sql.query<Known>(knownNames), { wanted, directory, now })) return
  await sql.transaction(async (tx) => {
    await checkTerm?.(tx)
    await write(tx, { wanted, directory, now, newId })
  })
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

async function write(tx: Transaction, { wanted, directory, now, newId }: Goal & { newId: NewId }) {
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
