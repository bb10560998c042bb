/** The environments of all apps of an account, and what they do now, in as few requests as can be. */
import { LIMITS, type resources } from '../contract/index.ts'
import { CallFailed } from './connection/failures.ts'
import type { Service } from './connection/service.ts'
import { api, type Path } from './project/path.ts'

/** `account` is its path below `/v1/`: `accounts/default`. */
export const allEnvironments = (service: Service, account: Path): Promise<resources.Environment[]> =>
  service.list(api`/v1/${account}/apps/-/environments`, { pageSize: LIMITS.maxPageSize })

/** An environment, and what it does now, which a service of an earlier version does not say. */
export type Watched = { environment: resources.Environment; activity?: resources.Activity | undefined }

/** Two lists, however many environments there are. */
export async function watchAll(service: Service, account: Path): Promise<Watched[]> {
  const [environments, activity] = await Promise.all([allEnvironments(service, account), allActivity(service, account)])
  const byName = new Map(activity.map((one) => [one.name, one]))
  return environments.map((environment) => ({ environment, activity: byName.get(`${environment.name}/activity`) }))
}

async function allActivity(service: Service, account: Path): Promise<resources.Activity[]> {
  try {
    return await service.list(api`/v1/${account}/activity`, { pageSize: LIMITS.maxPageSize })
  } catch (error) {
    // A service of an earlier version does not have it.
    if (error instanceof CallFailed && error.status === 404) return []
    throw error
  }
}

/** `accounts/default/apps/shop/environments/…` is of `shop`. */
export const appOf = ({ name }: resources.Environment): string => name.split('/')[3] ?? ''
