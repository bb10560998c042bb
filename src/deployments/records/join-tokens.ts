/**
 * Which tokens of processes of other machines are good. A name has a generation, which a revocation raises; a name without a row has
 * the first. There is no secret in the rows.
 *
 *   a token of …                is
 *   the generation of its name  good
 *   an earlier one              revoked: control processes refuse it, and end its connections
 */
import { type Changes, type Clock, createListeners, type Log, type Repetition, repeat } from '../../base/index.ts'
import { type Sql, statement } from '../../storage/index.ts'

export type TokenName = { role: string; name: string }

export type TokenRecord = TokenName & {
  generation: number
  /** When a token of this generation was printed last; null for never. */
  makeTime: number | null
  /** When those before it were revoked; null for never. */
  revokeTime: number | null
}

type Row = { role: string; name: string; generation: number; make_time: number | null; revoke_time: number | null }

/** Followers of no account, but of tokens. */
const HINTS = 'join tokens'
const LOOK_MS = 1000

export function createTokenRecords({ sql, clock }: { sql: Sql; clock: Pick<Clock, 'now'> }) {
  return {
    async all(): Promise<TokenRecord[]> {
      const rows = await sql.query<Row>(
        statement`SELECT role, name, generation, make_time, revoke_time FROM join_tokens ORDER BY role, name`,
      )
      return rows.map(({ role, name, generation, make_time, revoke_time }) => ({
        ...{ role, name, generation: Number(generation) },
        makeTime: make_time === null ? null : Number(make_time),
        revokeTime: revoke_time === null ? null : Number(revoke_time),
      }))
    },

    /** A token is made: resolves to its generation. */
    made: ({ role, name }: TokenName): Promise<number> =>
      sql.transaction(async (tx) => {
        const [row] = await tx.query<{ generation: number }>(statement`
          INSERT INTO join_tokens (role, name, make_time) VALUES (${role}, ${name}, ${clock.now()})
          ON CONFLICT (role, name) DO UPDATE SET make_time = excluded.make_time RETURNING generation`)
        return Number(row?.generation ?? 0)
      }),

    /** All tokens of the name that were made are not good any more, from when control processes know of it. */
    revoke: ({ role, name }: TokenName): Promise<void> =>
      sql.transaction(async (tx) => {
        await tx.query(statement`
          INSERT INTO join_tokens (role, name, generation, revoke_time) VALUES (${role}, ${name}, 1, ${clock.now()})
          ON CONFLICT (role, name) DO UPDATE
          SET generation = join_tokens.generation + 1, make_time = NULL, revoke_time = excluded.revoke_time`)
        tx.notify(HINTS, '')
      }),
  }
}

type Parts = { sql: Sql; clock: Clock; log: Log; changes: Pick<Changes, 'follow'> }

/** What a control process knows of them. Resolves when they were read; while the database is away, what was read last holds. */
export async function followTokens({ sql, clock, log, changes }: Parts) {
  const records = createTokenRecords({ sql, clock })
  const changed = createListeners<void>()
  let generations = new Map<string, number>()

  async function read() {
    const next = new Map((await records.all()).map(({ role, name, generation }) => [keyOf({ role, name }), generation]))
    const isSame = [...next].every(([key, generation]) => (generations.get(key) ?? 0) === generation)
    generations = next
    if (!isSame) changed.notify()
  }
  const readSoon = () =>
    read().catch((error) => log.debug({ err: error }, 'it cannot be found out which tokens were revoked'))

  await read()
  // A hint, which may be lost.
  const unfollow = changes.follow(HINTS, () => void readSoon())
  const looking: Repetition = repeat(clock, LOOK_MS, readSoon)

  return {
    isValid: ({ role, name, generation = 0 }: TokenName & { generation?: number }): boolean =>
      generation === (generations.get(keyOf({ role, name })) ?? 0),
    onChange: changed.add,
    async stop() {
      unfollow()
      await looking.stop()
    },
  }
}

const keyOf = ({ role, name }: TokenName): string => `${role}/${name}`
