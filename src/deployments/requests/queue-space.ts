/** Changes wait for each other and for builds, so a client that changes an environment in a loop would pile them up. */
import { LIMITS, Problem } from '../../contract/index.ts'
import type { OperationPath, Operations } from '../../operations/index.ts'
import type { Transaction } from '../../storage/index.ts'

export async function requireQueueSpace(
  operations: Pick<Operations, 'countChanges'>,
  tx: Transaction,
  path: OperationPath,
) {
  if ((await operations.countChanges(tx, path)) < LIMITS.changesWaiting) return
  const metadata = { limit: String(LIMITS.changesWaiting) }
  throw new Problem('TOO_MANY_CHANGES', undefined, { metadata, retryAfterSeconds: 10 })
}
