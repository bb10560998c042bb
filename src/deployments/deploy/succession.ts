/** While a deployment is built and started, the live one reports which pages it makes. */
import type { Log } from '../../base/index.ts'
import type { Instances } from '../../runtime/index.ts'
import type { Revalidations } from '../records/revalidations.ts'

type Parts = {
  log: Log
  revalidations: Pick<Revalidations, 'expectSuccessor'>
  instances: Pick<Instances, 'refreshExpiries'>
}

/** Begins a succession, which lasts until the result is disposed of. */
export type BeginSuccession = (environmentId: string) => Promise<AsyncDisposable>

export function createSuccession({ log, revalidations, instances }: Parts): BeginSuccession {
  /** Pages that are not reported are only made again, so a fault here does not fail the deployment. */
  const refresh = (environmentId: string) =>
    instances
      .refreshExpiries(environmentId)
      .catch((error) => log.error({ err: error, environment: environmentId }, 'an app does not report its pages'))

  return async (environmentId) => {
    const end = revalidations.expectSuccessor(environmentId)
    await refresh(environmentId)
    return {
      async [Symbol.asyncDispose]() {
        end()
        await refresh(environmentId)
      },
    }
  }
}
