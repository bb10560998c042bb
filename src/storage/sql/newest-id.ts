/**
 * The newest id in the database. Ids carry the time and are the order of everything (the last upload, the next operation), so
 * a process whose clock is behind goes on from here.
 */
import { type Reader, statement } from './sql.ts'

/** Nothing in a new database. */
export async function newestId(sql: Reader): Promise<string | undefined> {
  const [row] = await sql.query<{ id: string | null }>(statement`
    SELECT MAX(id) AS id FROM (
      SELECT MAX(id) AS id FROM apps
      UNION ALL SELECT MAX(id) FROM environments
      UNION ALL SELECT MAX(id) FROM operations
      UNION ALL SELECT MAX(id) FROM builds
      UNION ALL SELECT MAX(id) FROM deployments
      UNION ALL SELECT MAX(id) FROM triggers
    ) newest`)
  return row?.id ?? undefined
}
