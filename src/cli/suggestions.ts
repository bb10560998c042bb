/**
 * A name that a service does not know may be misspelt. The error then suggests similar names that exist. These are requested
 * only after such an error.
 */
import { didYouMean } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import { CallFailed } from './connection/failures.ts'
import type { Service } from './connection/service.ts'
import { api, type Path } from './project/path.ts'

/** Of an account, or of an app in one. */
type Named = { account: string; app?: string }

/** The service, with a suggestion in the error about this name. */
export function withSuggestions(service: Service, { account, app }: Named): Service {
  const about = app === undefined ? 'ACCOUNT_NOT_FOUND' : 'APP_NOT_FOUND'

  async function meantBy(error: unknown): Promise<string> {
    if (!(error instanceof CallFailed) || error.reason !== about) return ''
    if (app === undefined) return didYouMean(account, await namesAt(api`/v1/accounts`, 'accounts'))
    return didYouMean(app, await namesAt(api`/v1/accounts/${account}/apps`, 'apps'))
  }

  async function namesAt(path: Path, field: string): Promise<string[]> {
    const all = await service.list<resources.App>(path, field)
    return all.map(({ name }) => name.slice(name.lastIndexOf('/') + 1))
  }

  async function suggesting<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      // Where the names cannot be read, the original error is thrown without a suggestion.
      const meant = await meantBy(error).catch(() => '')
      if (meant === '' || !(error instanceof CallFailed)) throw error
      const { status, reason, message, retryAfterSeconds } = error
      throw new CallFailed({ status, reason, message: `${message}${meant}`, retryAfterSeconds })
    }
  }

  return {
    ...service,
    call: (path, options) => suggesting(service.call(path, options)),
    ask: (path, options) => suggesting(service.ask(path, options)),
    list: (path, field, query) => suggesting(service.list(path, field, query)),
    first: (path, field, limit) => suggesting(service.first(path, field, limit)),
  }
}
