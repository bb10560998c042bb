/**
 * Keeps the edge's route table the picture of the database. Whoever changes what visitors get calls `touch` in the same
 * transaction and `publish` after it; other processes see the risen revision and follow within a second.
 */
import type { Environments } from '../apps/index.ts'
import type { Clock, Log } from '../base/index.ts'
import type { Edge, RouteTable } from '../edge/index.ts'
import { type Sql, statement, type Transaction } from '../storage/index.ts'

const FOLLOW_MS = 1000

type Parts = { sql: Sql; clock: Clock; log: Log; environments: Environments; edge: Edge; domain: string }

export function createRouting({ sql, clock, log, environments, edge, domain }: Parts) {
  let current: Promise<void> | undefined
  let next: Promise<void> | undefined
  let publishedRevision = -1
  const stopping = new AbortController()

  async function publishOnce(): Promise<void> {
    // The revision is read before the rows: a change in between is published twice, never missed.
    const revision = await readRevision()
    const hosts: RouteTable['hosts'] = {}
    for (const { hostLabel } of await environments.routable()) hosts[`${hostLabel}.${domain}`] = { kind: 'empty' }
    await edge.publish({ hosts }, stopping.signal)
    publishedRevision = revision
  }

  async function readRevision(): Promise<number> {
    const [row] = await sql.query<{ value: number }>(statement`SELECT value FROM revisions WHERE name = 'routes'`)
    return row?.value ?? 0
  }

  /** Resolves when the edge uses a table that was read after this call. Calls made meanwhile share the next one. */
  function publish(): Promise<void> {
    if (!current) {
      current = publishOnce().finally(() => {
        current = undefined
      })
      return current
    }
    next ??= current
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return publish()
      })
    return next
  }

  async function follow() {
    while (!stopping.signal.aborted) {
      await clock.sleep(FOLLOW_MS, stopping.signal)
      if (stopping.signal.aborted) return
      try {
        if ((await readRevision()) !== publishedRevision) await publish()
      } catch (error) {
        if (!stopping.signal.aborted) log.error({ err: error }, 'the edge could not be given its routes')
      }
    }
  }

  let following: Promise<void> | undefined

  return {
    publish,
    async touch(tx: Transaction) {
      await tx.query(statement`UPDATE revisions SET value = value + 1 WHERE name = 'routes'`)
    },
    async start() {
      await publish()
      following = follow()
    },
    async stop() {
      stopping.abort(new Error('the service is stopping'))
      await following
    },
  }
}

export type Routing = ReturnType<typeof createRouting>
