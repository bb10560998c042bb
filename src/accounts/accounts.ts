/** Accounts: the owners of everything else. Made by the operator, never over the API. */
import { type Clock, didYouMean, type NewId } from '../base/index.ts'
import { Problem } from '../contract/index.ts'
import { list, type Reader, type Sql, statement, type Transaction } from '../storage/index.ts'

export type Account = { id: string; name: string }

export function createAccounts({ sql, clock, newId }: { sql: Sql; clock: Clock; newId: NewId }) {
  async function add(tx: Transaction, name: string): Promise<Account> {
    const [made] = await tx.query<Account>(statement`
      INSERT INTO accounts (id, name, create_time) VALUES (${newId()}, ${name}, ${clock.now()})
      ON CONFLICT (name) DO NOTHING RETURNING id, name`)
    if (!made) throw new Problem('ACCOUNT_EXISTS', `There is an account ${name} already.`)
    tx.notify(made.id, '', { title: name })
    return made
  }

  async function require(reader: Reader, name: string): Promise<Account> {
    const [found] = await reader.query<Account>(statement`SELECT id, name FROM accounts WHERE name = ${name}`)
    if (found) return found
    const others = await reader.query<Account>(statement`SELECT id, name FROM accounts ORDER BY name LIMIT 1000`)
    const meant = didYouMean(
      name,
      others.map((one) => one.name),
    )
    throw new Problem('ACCOUNT_NOT_FOUND', `There is no account ${name}.${meant}`)
  }

  async function byName(name: string): Promise<Account> {
    return require(sql, name)
  }

  async function requireById(reader: Reader, id: string): Promise<Account> {
    const [found] = await reader.query<Account>(statement`SELECT id, name FROM accounts WHERE id = ${id}`)
    if (!found) throw new Problem('ACCOUNT_NOT_FOUND')
    return found
  }

  return {
    add,
    require,
    requireById,
    byName,
    create: (name: string) => sql.transaction((tx) => add(tx, name)),
    list: () =>
      sql.query<Account & { create_time: number }>(statement`SELECT id, name, create_time FROM accounts ORDER BY name`),

    async find(name: string, reader: Reader = sql): Promise<Account | undefined> {
      const [found] = await reader.query<Account>(statement`SELECT id, name FROM accounts WHERE name = ${name}`)
      return found
    },

    /** By id. */
    async namesOf(ids: readonly string[]): Promise<Map<string, string>> {
      if (ids.length === 0) return new Map()
      const found = await sql.query<Account>(statement`SELECT id, name FROM accounts WHERE id IN (${list(ids)})`)
      return new Map(found.map(({ id, name }) => [id, name]))
    },

    /** Whether there is more than one account. */
    async areSeveral(reader: Reader = sql): Promise<boolean> {
      return (await reader.query(statement`SELECT id FROM accounts LIMIT 2`)).length > 1
    },
  }
}

export type Accounts = ReturnType<typeof createAccounts>
