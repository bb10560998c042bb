/** The environment that a caller wants to change: it must exist in that app and account, and must not be being deleted. */
import type { Account } from '../../accounts/index.ts'
import type { Environments } from '../../apps/index.ts'
import { Problem } from '../../contract/index.ts'
import type { Reader } from '../../storage/index.ts'

/** An environment as a caller names it. The account is known already, as every request is authenticated first. */
export type EnvironmentRef = { account: Account; appName: string; environmentId: string }

export async function requireOpen(
  environments: Pick<Environments, 'require'>,
  reader: Reader,
  { account, appName, environmentId }: EnvironmentRef,
) {
  const environment = await environments.require(account.id, appName, environmentId, reader)
  if (environment.state === 'DELETING') throw new Problem('ENVIRONMENT_DELETING')
  return { environment, path: { accountId: account.id, appName: environment.appName, environmentId } }
}
