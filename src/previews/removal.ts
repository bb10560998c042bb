/**
 * Deletes previews that were idle for too long: no deployment and no visit. The leader does it. What visitors did is counted
 * elsewhere; it is recorded with the preview when a round looks, which also moves the time at which it expires.
 */
import type { Accounts } from '../accounts/index.ts'
import type { Environments, PreviewRecord, PreviewRecords } from '../apps/index.ts'
import type { Clock, Log } from '../base/index.ts'
import type { Requests } from '../deployments/index.ts'
import type { Operations } from '../operations/index.ts'
import { LeadershipLost, type Sql, type Term } from '../storage/index.ts'

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  accounts: Pick<Accounts, 'requireById'>
  environments: Pick<Environments, 'byId'>
  operations: Pick<Operations, 'unfinishedOf'>
  records: PreviewRecords
  requests: Pick<Requests, 'deleteEnvironment'>
  /** When previews were last visited, by environment. */
  lastVisits(): Promise<ReadonlyMap<string, number>>
  /** That of this process as the leader. */
  term: Pick<Term, 'check'>
}

const LOOK_MS = 60_000

class NotIdle extends Error {}

export function createPreviewRemoval(parts: Parts) {
  const { sql, clock, log, accounts, environments, operations, records, requests, term } = parts

  async function round(): Promise<void> {
    await recordVisits()
    for (const preview of await records.expired()) {
      try {
        await remove(preview)
      } catch (error) {
        if (error instanceof LeadershipLost) return
        if (error instanceof NotIdle) continue
        log.error({ err: error, environment: preview.id }, 'a preview that was idle could not be deleted')
      }
    }
  }

  async function recordVisits() {
    for (const [id, time] of await parts.lastVisits())
      await sql.transaction(async (tx) => {
        await term.check(tx)
        await records.setActive(tx, id, time)
      })
  }

  /** Unless it is being deployed to, or was in the meantime: that is decided in the transaction of the deletion. */
  async function remove({ id, accountId, appName, displayName, activeTime }: PreviewRecord) {
    const account = await accounts.requireById(sql, accountId)
    const requestedBy = { kind: 'SERVICE', name: 'idle preview' } as const
    await requests.deleteEnvironment(
      { account, appName, environmentId: id },
      {
        requestedBy,
        async guard(tx) {
          await term.check(tx)
          const found = await environments.byId(tx, id)
          const isStill = found?.preview?.activeTime === activeTime && found.state !== 'DELETING'
          if (!isStill || (await operations.unfinishedOf(tx, id)).length > 0) throw new NotIdle()
        },
      },
    )
    log.info({ environment: id, displayName }, 'a preview that was idle is deleted')
  }

  return {
    round,

    /** Looks for as long as this process leads. */
    start() {
      const stopping = new AbortController()
      const { signal } = stopping
      const done = (async () => {
        while (!signal.aborted) {
          await round().catch((error) => {
            if (!(error instanceof LeadershipLost)) log.error({ err: error }, 'cannot look for previews that are idle')
          })
          await clock.sleep(LOOK_MS, signal)
        }
      })()
      return {
        stop() {
          stopping.abort()
          return done
        },
      }
    },
  }
}
