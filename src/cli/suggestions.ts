/**
 * A name that a service does not know may be misspelt. The error then suggests similar names that exist. These are requested
 * only after such an error.
 */

import { didYouMean } from '../base/index.ts'
import { ACCOUNT } from '../client/index.ts'
import { CallFailed } from './connection/failures.ts'
import { withErrors } from './connection/mapped.ts'
import type { Service } from './connection/service.ts'

/** Of an account, or of an app in one. */
type Named = { account: string; app?: string }

/** The service, with a suggestion in the error about this name. */
export function withSuggestions(service: Service, { account, app }: Named): Service {
  const about = app === undefined ? 'ACCOUNT_NOT_FOUND' : 'APP_NOT_FOUND'

  async function meantBy(error: unknown): Promise<string> {
    if (!(error instanceof CallFailed) || error.reason !== about) return ''
    const { client } = service
    if (app === undefined) return didYouMean(account, await lastParts(client.list('GET /v1/accounts')))
    const apps = client.list(`GET ${ACCOUNT}/apps`, { path: { account } })
    return didYouMean(app, await lastParts(apps))
  }

  async function withHint(error: unknown): Promise<unknown> {
    // Where the names cannot be read, the original error is thrown without a suggestion.
    const meant = await meantBy(error).catch(() => '')
    if (meant === '' || !(error instanceof CallFailed)) return error
    const { status, reason, message, retryAfterSeconds } = error
    return new CallFailed({ status, reason, message: `${message}${meant}`, retryAfterSeconds })
  }

  return { ...service, client: withErrors(service.client, withHint) }
}

const lastParts = async (all: AsyncIterable<{ name: string }>): Promise<string[]> =>
  (await Array.fromAsync(all)).map(({ name }) => name.slice(name.lastIndexOf('/') + 1))
