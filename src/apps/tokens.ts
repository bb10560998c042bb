/**
 * The tokens with which a running app calls the service. Each is derived from the master key for one environment and
 * one use, so that nothing is stored, a restart changes none, and a token for purges cannot read values. It contains
 * its environment, since some calls do not name it.
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

    /** The environment of this token. The caller checks whether that environment still exists. */
    environmentOf(token: string, use: TokenUse): string | undefined {
      const [, environmentId] = FORM.exec(token) ?? []
      return environmentId !== undefined && sameDigest(token, tokenOf(environmentId, use)) ? environmentId : undefined
    },
  }
}

export type Tokens = ReturnType<typeof createTokens>
