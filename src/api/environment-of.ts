/** The environment that a path names: it must be there, under that app and account, before anything of it is looked at. */
import type { Environments } from '../apps/index.ts'
import type { RouteCall } from './route.ts'

export async function environmentOf(
  environments: Environments,
  { account, params }: Pick<RouteCall<unknown, unknown>, 'account' | 'params'>,
) {
  const { id, appName } = await environments.require(account.id, params.app, params.environment)
  return {
    /** Where its things are looked for. */
    path: { accountId: account.id, environmentId: id, appName },
    /** Where callers find it. */
    at: { account: account.name, app: appName, environment: id },
  }
}
