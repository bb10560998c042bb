/** The environments of all apps of an account, and what they do now, in as few requests as can be. */
import { ACCOUNT, type Activity, type Environment } from '../client/index.ts'
import { LIMITS } from '../contract/index.ts'
import { CallFailed } from './connection/failures.ts'
import type { Service } from './connection/service.ts'

const LARGE_PAGES = { pageSize: LIMITS.maxPageSize }

export const allEnvironments = ({ client }: Service, account: string): Promise<Environment[]> =>
  Array.fromAsync(client.list(`GET ${ACCOUNT}/apps/-/environments`, { path: { account }, query: LARGE_PAGES }))

/** An environment, and what it does now, which a service of an earlier version does not say. */
export type Watched = { environment: Environment; activity?: Activity | undefined }

/** Two lists, however many environments there are. */
export async function watchAll(service: Service, account: string): Promise<Watched[]> {
  const [environments, activity] = await Promise.all([allEnvironments(service, account), allActivity(service, account)])
  const byName = new Map(activity.map((one) => [one.name, one]))
  return environments.map((environment) => ({ environment, activity: byName.get(`${environment.name}/activity`) }))
}

async function allActivity({ client }: Service, account: string): Promise<Activity[]> {
  try {
    const route = `GET ${ACCOUNT}/activity` as const
    return await Array.fromAsync(client.list(route, { path: { account }, query: LARGE_PAGES }))
  } catch (error) {
    // A service of an earlier version does not have it.
    if (error instanceof CallFailed && error.status === 404) return []
    throw error
  }
}

/** `accounts/default/apps/shop/environments/…` is of `shop`. */
export const appOf = ({ name }: Environment): string => name.split('/')[3] ?? ''
