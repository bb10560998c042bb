/** What a call of each route takes and gives, from the generated types. */
import type { Routes } from './generated/routes.ts'

export type RouteName = keyof Routes

type Part<Name extends string, T> = undefined extends T
  ? { [K in Name]?: T }
  : Record<never, never> extends T
    ? { [K in Name]?: T }
    : { [K in Name]: T }

export type CallOptions = {
  signal?: AbortSignal | undefined
  /** For this call, in place of that of the client. */
  timeoutMs?: number | undefined
  /** `if-match` makes a change only if the resource is still the one that was read. */
  headers?: Record<string, string> | undefined
}

type Input<R extends RouteName> = Part<'path', Routes[R]['path']> &
  Part<'query', Routes[R]['query']> &
  Part<'body', Routes[R]['body']> &
  CallOptions

/** Nothing has to be given where everything is optional. */
export type Arguments<R extends RouteName, More = unknown> =
  Record<never, never> extends Input<R> & More ? [given?: Input<R> & More] : [given: Input<R> & More]

type RoutesWith<Property extends string> = {
  [R in RouteName]: Routes[R] extends Record<Property, unknown> ? R : never
}[RouteName]

export type UploadRoute = RoutesWith<'takesZip'>
export type StreamRoute = RoutesWith<'streams'>

/** Those whose reply is one response. */
export type CallRoute = Exclude<
  { [R in RouteName]: [Routes[R]['reply']] extends [never] ? never : R }[RouteName],
  UploadRoute
>

/** Those that answer with pages. */
export type ListRoute = {
  [R in CallRoute]: Routes[R]['reply'] extends { nextPageToken: string } ? R : never
}[CallRoute]

export type ItemOf<R extends ListRoute> = {
  [K in keyof Routes[R]['reply']]: Routes[R]['reply'][K] extends readonly (infer Item)[] ? Item : never
}[keyof Routes[R]['reply']]

export const ACCOUNT = '/v1/accounts/{account}'
export const APP = `${ACCOUNT}/apps/{app}` as const
/** The beginning of most paths: `` `GET ${ENVIRONMENT}/builds` ``. */
export const ENVIRONMENT = `${APP}/environments/{environment}` as const

export type Path = Readonly<Record<string, string>>
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** The method and the address of a route. Every name becomes one step of the path, whatever it is. */
export function addressOf(route: string, path: Path = {}, query: Query = {}): { method: string; path: string } {
  const [method = '', template = ''] = route.split(' ')
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => stepOf(name, path[name]))
  return { method, path: `${filled}${queryText(query)}` }
}

/** A name that can be no step of a path. */
export class AddressError extends TypeError {}

function stepOf(parameter: string, value: string | undefined): string {
  if (typeof value !== 'string' || ['', '.', '..'].includes(value) || /\p{Surrogate}/u.test(value)) {
    throw new AddressError(`'${value}' cannot be the ${parameter} in an address`)
  }
  return encodeURIComponent(value)
}

/** With its question mark; empty values are left out. */
export function queryText(query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([key, value]): [string, string] => [key, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

const SINGULARS: Readonly<Record<string, string>> = {
  accounts: 'account',
  apps: 'app',
  environments: 'environment',
  builds: 'build',
  deployments: 'deployment',
  operations: 'operation',
  schedules: 'schedule',
}
const NAME = /^[A-Za-z0-9_-]{1,64}$/

export type NamePath = { account: string; app: string; environment: string } & Record<string, string>

/** The parameters in the name of a resource of an environment: `accounts/a/apps/b/environments/c/builds/d`. */
export function pathOf(name: string): NamePath {
  const steps = name.split('/')
  const path: Record<string, string> = {}
  for (let at = 0; at < steps.length; at += 2) {
    const [collection = '', id = ''] = steps.slice(at, at + 2)
    const parameter = Object.hasOwn(SINGULARS, collection) ? SINGULARS[collection] : undefined
    if (parameter === undefined || !NAME.test(id)) throw new TypeError(`'${name}' is not the name of a resource`)
    path[parameter] = id
  }
  if (!path.account || !path.app || !path.environment) throw new TypeError(`'${name}' is not in an environment`)
  return path as NamePath
}
