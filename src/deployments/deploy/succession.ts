/** While a deployment is made and started, the one that it will replace reports which pages it makes. */
import type { Log } from '../../base/index.ts'
import type { Handler } from '../../operations/index.ts'
import type { Supervisor } from '../../runtime/index.ts'
import type { Revalidations } from '../records/revalidations.ts'

type Parts = {
  log: Log
  revalidations: Pick<Revalidations, 'expectSuccessor'>
  supervisor: Pick<Supervisor, 'refreshExpiries'>
}

export function createSuccession({ log, revalidations, supervisor }: Parts): (handler: Handler) => Handler {
  /** What cannot be reported is one page less to go on with, and no reason for a deployment to fail. */
  const refresh = (environmentId: string) =>
    supervisor
      .refreshExpiries(environmentId)
      .catch((error) => log.error({ err: error, environment: environmentId }, 'an app does not report its pages'))

  return (handler) => async (operation, work) => {
    const { environmentId } = operation
    const end = revalidations.expectSuccessor(environmentId)
    try {
      await refresh(environmentId)
      return await handler(operation, work)
    } finally {
      end()
      await refresh(environmentId)
    }
  }
}
