/**
 * A rollback holds: what is live by an activation, although it is not of the newest upload, is what rebuilds build from then
 * on. Decided in the transaction that moves "live", so that no rebuild is asked for or begun in between.
 */
import type { Account } from '../../accounts/index.ts'
import type { Environments } from '../../apps/index.ts'
import type { Builds, Sources } from '../../builds/index.ts'
import type { Operation } from '../../operations/index.ts'
import type { Sql, Transaction } from '../../storage/index.ts'
import { requireOpen } from '../requests/require-open.ts'
import type { Deployment } from './deployments.ts'

type Parts = {
  sql: Sql
  environments: Environments
  builds: Pick<Builds, 'require'>
  sources: Sources
}

export function createPins({ sql, environments, builds, sources }: Parts) {
  return {
    /** To be called when the operation has made this deployment live, or found it live. */
    async follow(tx: Transaction, operation: Operation, { id, buildId }: Pick<Deployment, 'id' | 'buildId'>) {
      const { environmentId, accountId, trigger } = operation
      if (trigger === 'UPLOAD') return sources.unpin(tx, environmentId)
      if (trigger !== 'ACTIVATE') return
      const { archive } = await builds.require({ accountId, environmentId }, buildId, tx)
      const source = await sources.find(tx, environmentId)
      if (!source || source.newest.digest === archive.digest) return sources.unpin(tx, environmentId)
      await sources.pin(tx, environmentId, { archive, deployment: id, operation: operation.id })
    },

    /** From now on rebuilds build the newest upload. Nothing is built by this, and what is live stays. */
    async unpin(account: Account, appName: string, environmentId: string) {
      await sql.transaction(async (tx) => {
        await requireOpen(tx, environments, account, appName, environmentId)
        await sources.unpin(tx, environmentId)
      })
    },
  }
}

export type Pins = ReturnType<typeof createPins>
