/** The environment that somebody wants to change: it must be there, in that app and account, and not on its way out. */
import type { Account } from '../../accounts/index.ts'
import type { Environments } from '../../apps/index.ts'
import { Problem } from '../../contract/index.ts'
import type { Reader } from '../../storage/index.ts'

export async function requireOpen(
  reader: Reader,
  environments: Pick<Environments, 'require'>,
  account: Account,
  appName: string,
  id: string,
) {
  const environment = await environments.require(account.id, appName, id, reader)
  if (environment.state === 'DELETING') throw new Problem('ENVIRONMENT_DELETING')
  return { environment, path: { accountId: account.id, appName: environment.appName, environmentId: id } }
}
