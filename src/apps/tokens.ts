/**
 * The tokens by which an app calls the service from inside. Each is made from the master key for one environment and one use,
 * so that nothing has to be kept, a restart changes none, and what can purge cannot read values. It names its environment,
 * since some calls do not.
 */
import { sameDigest } from '../base/index.ts'
import type { Vault } from '../storage/index.ts'

export type TokenUse = 'apps-api' | 'kv-store'

const FORM = /^([0-9a-f-]{36})\.[\w-]{43}$/

export function createTokens({ vault }: { vault: Pick<Vault, 'derive'> }) {
  const tokenOf = (environmentId: string, use: TokenUse): string =>
    `${environmentId}.${vault.derive(`environments/${environmentId}/tokens/${use}`)}`

  return {
    of: tokenOf,

    /** The environment whose token this is; whether there still is such an environment is for others to know. */
    environmentOf(token: string, use: TokenUse): string | undefined {
      const [, environmentId] = FORM.exec(token) ?? []
      return environmentId !== undefined && sameDigest(token, tokenOf(environmentId, use)) ? environmentId : undefined
    },
  }
}

export type Tokens = ReturnType<typeof createTokens>
