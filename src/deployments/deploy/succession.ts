/** While a deployment is built and started, the live one reports which pages it makes. */
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
  /** Pages that are not reported are only made again, so a fault here does not fail the deployment. */
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
