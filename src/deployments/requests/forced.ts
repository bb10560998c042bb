/** What goes live whatever is found about it: the ledger records who wanted that. */
import type { Builds } from '../../builds/index.ts'
import type { Operation } from '../../operations/index.ts'
import type { Transaction } from '../../storage/index.ts'
import type { Asked, Ledger } from '../../triggers/index.ts'

type Parts = { builds: Pick<Builds, 'makeForced'>; ledger: Pick<Ledger, 'add'> }

export function createForcing({ builds, ledger }: Parts) {
  async function record(tx: Transaction, asked: Asked, { id, environmentId }: Operation) {
    await ledger.add(tx, environmentId, [{ ...asked, isForced: true }], { answer: 200, operationId: id })
  }

  return {
    record,
    /** The build of an operation that no worker has begun. */
    async force(tx: Transaction, asked: Asked, operation: Operation) {
      await builds.makeForced(tx, operation.build)
      await record(tx, asked, operation)
    },
  }
}
