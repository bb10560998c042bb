/**
 * The repositories of apps. Refs are rows, and objects are in packs, which are blobs: so every control process answers every
 * call, and a backup has all of it. A push writes its pack first and its row with the refs later, in one transaction: where the
 * process dies in between, the blobs have no row, and retention removes them.
 */
import type { Clock, NewId } from '../base/index.ts'
import { LIMITS, Problem } from '../contract/index.ts'
import { type Digest, list, type Reader, type Sql, statement, type Transaction } from '../storage/index.ts'

export type Ref = { name: string; target: string }

export type Pack = { id: string; name: string; pack: Digest; index: Digest; bytes: number }

/** From one target to another; `null` where there is no ref before or after. */
export type RefChange = { name: string; from: string | null; to: string | null }

export type Repository = { refs: Ref[]; packs: Pack[] }

type PackRow = { id: string; name: string; pack_digest: Digest; index_digest: Digest; bytes: number }

const packColumns = statement`id, name, pack_digest, index_digest, bytes`

/** What was read before was changed by another push meanwhile. */
export class RefMoved extends Error {}

export function createRepositories({ sql, clock, newId }: { sql: Sql; clock: Clock; newId: NewId }) {
  async function read(appId: string, reader: Reader = sql): Promise<Repository> {
    const refs = await reader.query<Ref>(
      statement`SELECT name, target FROM git_refs WHERE app_id = ${appId} ORDER BY name`,
    )
    const packs = await reader.query<PackRow>(
      statement`SELECT ${packColumns} FROM git_packs WHERE app_id = ${appId} ORDER BY id`,
    )
    return { refs, packs: packs.map(toPack) }
  }

  async function change(tx: Transaction, appId: string, { name, from, to }: RefChange) {
    const now = clock.now()
    if (from === to) return
    const changed =
      to === null
        ? await tx.query(statement`
            DELETE FROM git_refs WHERE app_id = ${appId} AND name = ${name} AND target = ${from} RETURNING name`)
        : from === null
          ? await tx.query(statement`
              INSERT INTO git_refs (app_id, name, target, update_time) VALUES (${appId}, ${name}, ${to}, ${now})
              ON CONFLICT (app_id, name) DO NOTHING RETURNING name`)
          : await tx.query(statement`
              UPDATE git_refs SET target = ${to}, update_time = ${now}
              WHERE app_id = ${appId} AND name = ${name} AND target = ${from} RETURNING name`)
    if (changed.length === 0) throw new RefMoved(name)
  }

  return {
    read,

    /**
     * Moves refs, all or none, and adds the pack with their objects. `seen` are the packs that the objects may need: if one of
     * them was replaced meanwhile, the push is refused, and made again with the new one it succeeds.
     */
    async move(
      tx: Transaction,
      { appId, accountId }: { appId: string; accountId: string },
      {
        changes,
        pack,
        seen,
      }: { changes: readonly RefChange[]; pack?: Omit<Pack, 'id'> | undefined; seen: readonly Pack[] },
    ) {
      for (const one of changes) await change(tx, appId, one)
      const { refs, packs } = await read(appId, tx)
      if (refs.length > LIMITS.refs) throw tooManyRefs()
      checkNames(refs)
      const ids = new Set(packs.map(({ id }) => id))
      if (seen.some(({ id }) => !ids.has(id))) throw new RefMoved('its objects')
      if (!pack) return
      await tx.query(statement`
        INSERT INTO git_packs (id, app_id, account_id, name, pack_digest, index_digest, bytes, create_time)
        VALUES (${newId()}, ${appId}, ${accountId}, ${pack.name}, ${pack.pack}, ${pack.index}, ${pack.bytes}, ${clock.now()})
        ON CONFLICT (app_id, name) DO NOTHING`)
    },

    /** One pack in the place of all, if nothing was pushed since they were read. Resolves to whether it was done. */
    async replacePacks(
      at: { appId: string; accountId: string },
      before: Repository,
      pack: Omit<Pack, 'id'>,
    ): Promise<boolean> {
      return sql.transaction(async (tx) => {
        const now = await read(at.appId, tx)
        if (JSON.stringify(now) !== JSON.stringify(before)) return false
        const ids = before.packs.map(({ id }) => id)
        await tx.query(statement`DELETE FROM git_packs WHERE app_id = ${at.appId} AND id IN (${list(ids)})`)
        await tx.query(statement`
          INSERT INTO git_packs (id, app_id, account_id, name, pack_digest, index_digest, bytes, create_time)
          VALUES (${newId()}, ${at.appId}, ${at.accountId}, ${pack.name}, ${pack.pack}, ${pack.index}, ${pack.bytes},
            ${clock.now()})`)
        return true
      })
    },

    /** The blobs of all repositories. */
    digests: () => readPackDigests(sql),

    /** What the repositories of an account take, or those of all accounts; with the key that tells copies. */
    async sizes(accountId?: string): Promise<{ key: string; bytes: number; files: number }[]> {
      const mine = accountId === undefined ? statement`1 = 1` : statement`account_id = ${accountId}`
      const rows = await sql.query<{ pack_digest: string; bytes: number }>(
        statement`SELECT DISTINCT pack_digest, bytes FROM git_packs WHERE ${mine}`,
      )
      return rows.map(({ pack_digest, bytes }) => ({ key: pack_digest, bytes, files: 2 }))
    },
  }
}

/** The blobs of all repositories. */
export async function readPackDigests(reader: Reader): Promise<Digest[]> {
  const rows = await reader.query<{ pack_digest: Digest; index_digest: Digest }>(
    statement`SELECT pack_digest, index_digest FROM git_packs`,
  )
  return rows.flatMap(({ pack_digest, index_digest }) => [pack_digest, index_digest])
}

export type Repositories = ReturnType<typeof createRepositories>

export const tooManyRefs = (): Problem =>
  new Problem('TOO_MANY_REFS', `A repository has at most ${LIMITS.refs} branches and tags.`, {
    metadata: { limit: String(LIMITS.refs) },
  })

/** Git keeps no ref below another one: `a/b` beside `a`. */
function checkNames(refs: readonly Ref[]) {
  const names = new Set(refs.map(({ name }) => name))
  for (const name of names) {
    for (let at = name.indexOf('/', 'refs/heads/'.length); at > 0; at = name.indexOf('/', at + 1)) {
      if (names.has(name.slice(0, at)))
        throw new Problem('GIT_FAILED', `There cannot be both ${name.slice(0, at)} and ${name}.`)
    }
  }
}

const toPack = ({ id, name, pack_digest, index_digest, bytes }: PackRow): Pack => ({
  id,
  name,
  pack: pack_digest,
  index: index_digest,
  bytes,
})
