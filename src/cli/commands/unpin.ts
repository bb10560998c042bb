/** Removes the pin that a rollback has set. */
import { ENVIRONMENT } from '../../client/index.ts'
import type { ClientCall } from '../command.ts'
import { oneLine, printResult } from '../output/rows.ts'
import { atEnvironment, lastPart } from '../project/where.ts'

export async function unpin(call: ClientCall): Promise<undefined> {
  const { service, names: path, environment } = await atEnvironment(call)
  const after = await service.client.call(`POST ${ENVIRONMENT}:unpin`, { path })
  const named = `${oneLine(after.displayName)} (${lastPart(after)})`
  printResult(
    call,
    after,
    environment.pin
      ? `${named} is not pinned any more. What is live stays; the next rebuild builds the newest upload.`
      : `${named} was not pinned: rebuilds build the newest upload.`,
  )
}
