/**
 * A rollback lasts: after an older archive was made live, rebuilds build that archive and not the newest upload. This is
 * decided in the transaction that switches the live deployment, so that no rebuild is requested or begun in between.
 */
import type { Environments } from '../../apps/index.ts'
import type { Builds, Sources } from '../../builds/index.ts'
import type { OperationRecord } from '../../operations/index.ts'
import type { Sql, Transaction } from '../../storage/index.ts'
import { type EnvironmentRef, requireOpen } from '../requests/require-open.ts'
import type { Deployment } from './rows.ts'

type Parts = {
  sql: Sql
  environments: Environments
  builds: Pick<Builds, 'require'>
  sources: Sources
}

export function createPins({ sql, environments, builds, sources }: Parts) {
  return {
    /** To be called when the operation has made this deployment live, or found it live. */
    async follow(tx: Transaction, operation: OperationRecord, { id, buildId }: Pick<Deployment, 'id' | 'buildId'>) {
      const { environmentId, accountId, trigger } = operation
      if (trigger === 'UPLOAD') return sources.unpin(tx, environmentId)
      if (trigger !== 'ACTIVATE' && trigger !== 'PROMOTE') return
      const { archive } = await builds.require({ accountId, environmentId }, buildId, tx)
      if (trigger === 'PROMOTE') return sources.promoted(tx, environmentId, archive)
      const source = await sources.find(tx, environmentId)
      if (!source || source.newest.digest === archive.digest) return sources.unpin(tx, environmentId)
      await sources.pin(tx, environmentId, { archive, deployment: id, operation: operation.id })
    },

    /** From now on rebuilds build the newest upload. This builds nothing and leaves the live deployment as it is. */
    async unpin(at: EnvironmentRef) {
      await sql.transaction(async (tx) => {
        await requireOpen(environments, tx, at)
        await sources.unpin(tx, at.environmentId)
      })
    },
  }
}

export type Pins = ReturnType<typeof createPins>
