/**
 * The environment that a path names. It must exist under that app and account before anything that belongs to it is
 * read.
 */
import type { Environments } from '../apps/index.ts'
import type { RouteCall } from './route.ts'

export async function environmentOf(
  environments: Environments,
  { account, params }: Pick<RouteCall<unknown, unknown>, 'account' | 'params'>,
) {
  const { id, appName } = await environments.require(account.id, params.app, params.environment)
  return {
    /** For look-ups in the database. */
    path: { accountId: account.id, environmentId: id, appName },
    /** For names of resources. */
    at: { account: account.name, app: appName, environment: id },
  }
}
