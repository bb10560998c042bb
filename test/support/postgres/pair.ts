/** Two servers of PostgreSQL: one that takes writes, and a replica that has every commit before it is acknowledged. */
import type { Scope } from '../folder.ts'
import { until } from '../until.ts'
import { type Postgres, startPostgres } from './server.ts'

export type Pair = {
  primary: Postgres
  replica: Postgres
  /** An address of a database of the primary, with both hosts. */
  withBoth(url: string): string
  /** As the failover of a cluster manager does: the first is dead, the second takes writes. */
  failOver(): Promise<void>
}

export async function startPair(t: Scope, { host = '127.0.0.1' } = {}): Promise<Pair> {
  const primary = await startPostgres(t, { host, settings: { synchronous_commit: 'on' } })
  const replica = await startPostgres(t, { host, settings: { synchronous_commit: 'on' }, replicaOf: primary })
  await primary.psql(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
  await primary.psql('SELECT pg_reload_conf()')
  const isSynchronous = `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`
  await until(async () => (await primary.psql(isSynchronous)) === '1', 'every commit waits for the replica')
  const places = [primary, replica].map((server) => `${server.host}:${server.port}`)
  return {
    primary,
    replica,
    withBoth: (url) => url.replace(places[0] as string, places.join(',')),
    async failOver() {
      await primary.kill()
      await replica.promote()
    },
  }
}
