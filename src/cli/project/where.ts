/**
 * Which service, account, app and environment a command is about. In order of precedence: options, the environment of the
 * process, `.headland.json`, and the only one that exists.
 */
import { didYouMean } from '../../base/index.ts'
import { ACCOUNT, type Account, APP, ENVIRONMENT, type Environment } from '../../client/index.ts'
import { names, optionText, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { createSavedLogins, isExpired, serviceUrl } from '../connection/saved-logins.ts'
import { type Authorization, createService, type Service } from '../connection/service.ts'
import { withSuggestions } from '../suggestions.ts'
import { endingWith, isWholeId } from './ids.ts'
import { findProject, type Project } from './project-file.ts'
import { type EnvironmentNames, environmentIn } from './resource-names.ts'

export type AtService = {
  service: Service
  project: Project
  /** The address and an API credential for it come from the command or the environment of the process. */
  isCredentialGiven: boolean
}
export type AtAccount = AtService & { account: string }
export type AtApp = AtAccount & { app: string }
export type AtEnvironment = AtApp & {
  environment: Environment
  /** What routes about it have in their paths. */
  names: EnvironmentNames
}

export async function atService(call: ClientCall): Promise<AtService> {
  const { options, environment } = call
  const project = (await findProject(call))?.project ?? {}
  const logins = createSavedLogins(environment.configFolder)
  const given = optionText(options, 'url') ?? environment.url
  const found = given ?? project.url ?? (await logins.last())
  if (found === undefined) throw new UsageError("which service? Log in with 'headland login URL', or set HEADLAND_URL")
  const url = serviceUrl(found)
  const { apiUser, apiPassword } = environment
  const isCredentialGiven = apiUser !== undefined && apiPassword !== undefined && given !== undefined
  const manner = { proxies: environment.proxies, answerMs: call.answerMs }
  return { service: createService(url, await authorization(), manner), project, isCredentialGiven }

  /** A project of another person must not decide where the secrets of this shell are sent. */
  async function authorization(): Promise<Authorization> {
    if (isCredentialGiven) return { userId: apiUser, password: apiPassword }
    const saved = await logins.of(url)
    if (saved && isExpired(saved)) throw new UsageError(`your log-in to ${url} has ended: 'headland login ${url}'`)
    if (saved) return saved
    const hint = apiUser !== undefined && given === undefined ? ', or set HEADLAND_URL beside HEADLAND_API_USER' : ''
    throw new UsageError(`you are not logged in to ${url}: 'headland login ${url}'${hint}`)
  }
}

export async function atAccount(call: ClientCall): Promise<AtAccount> {
  const at = await atService(call)
  const named = optionText(call.options, 'account') ?? at.project.account
  if (named !== undefined) {
    const account = wellFormed(named, names.accountName.pattern, 'account')
    return { ...at, account, service: withSuggestions(at.service, { account }) }
  }
  const accounts = await accountsOf(at.service)
  return { ...at, account: onlyOf(accounts.map(lastPart), 'account', '--account') }
}

/** All accounts of the caller, which fit on one page. */
export const accountsOf = (service: Service): Promise<Account[]> =>
  Array.fromAsync(service.client.list('GET /v1/accounts'))

export async function atApp(call: ClientCall): Promise<AtApp> {
  const at = await atAccount(call)
  const named = optionText(call.options, 'app') ?? at.project.app
  if (named !== undefined) {
    const app = wellFormed(named, names.appName.pattern, 'app')
    return { ...at, app, service: withSuggestions(at.service, { account: at.account, app }) }
  }
  const path = { account: at.account }
  const apps = await Array.fromAsync(at.service.client.list(`GET ${ACCOUNT}/apps`, { path }))
  return { ...at, app: onlyOf(apps.map(lastPart), 'app', '--app') }
}

export async function atEnvironment(call: ClientCall): Promise<AtEnvironment> {
  const at = await atApp(call)
  const named = optionText(call.options, 'env') ?? at.project.environment
  const found = await findEnvironment(at, named)
  return { ...at, environment: found, names: environmentIn(found.name) }
}

/** A name becomes part of a path, and must not change the rest of it. */
export function wellFormed(name: string, pattern: unknown, what: string): string {
  if (!new RegExp(String(pattern)).test(name)) throw new UsageError(`'${name}' cannot be the name of an ${what}`)
  return name
}

/** By its id, by its display name, or the only one. */
async function findEnvironment({ service: { client }, account, app }: AtApp, named: string | undefined) {
  const path = { account, app }
  if (named !== undefined && isWholeId(named))
    return client.call(`GET ${ENVIRONMENT}`, { path: { ...path, environment: named } })
  const list = client.list(`GET ${APP}/environments`, { path })
  const all = await Array.fromAsync(list)
  // A preview is meant only if it is named.
  const fitting = named === undefined ? all.filter(({ preview }) => !preview) : called(all, named)
  if (named !== undefined && fitting.length === 0) {
    const titles = all.map(({ displayName }) => displayName)
    throw new UsageError(`there is no environment '${named}'.${didYouMean(named, titles)} There are: ${inWords(all)}`)
  }
  if (fitting.length === 1 && fitting[0]) return fitting[0]
  if (fitting.length === 0) throw new UsageError("there is no environment yet: 'headland deploy' makes one")
  throw new UsageError(`which environment? --env, one of ${inWords(fitting)}`)
}

/** Those with this name, and those whose id ends with it: a name that looks like an id does not hide another's id. */
export const called = (all: readonly Environment[], named: string): Environment[] => [
  ...new Set([...all.filter(({ displayName }) => displayName === named), ...endingWith(all, named)]),
]

const inWords = (all: readonly Environment[]): string =>
  all.map((one) => `${one.displayName} (${lastPart(one)})`).join(', ') || 'none'

/** `accounts/default/apps/shop` is `shop`. */
export const lastPart = ({ name }: { name: string }): string => name.slice(name.lastIndexOf('/') + 1)

function onlyOf(all: readonly string[], what: string, flag: string): string {
  if (all.length === 1 && all[0] !== undefined) return all[0]
  if (all.length === 0 && what === 'app') throw new UsageError("there is no app yet: 'headland deploy' makes one")
  if (all.length === 0) throw new UsageError(`there is no ${what} that you could use yet`)
  throw new UsageError(`which ${what}? ${flag}, one of ${all.join(', ')}`)
}
