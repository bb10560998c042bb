/** Environments: places where one version of an app answers, each under its own host name. */
import {
  APP,
  addressOf,
  type ChangedEnvironment,
  type ChangedPromotionChecks,
  type ContentSnapshots,
  ENVIRONMENT,
  type Environment,
  type LearnedCaching,
  type Retry,
  type RouteName,
  type SuspiciousOutput,
} from '../../client/index.ts'
import { names, optionText, requiredOption, type resources, UsageError } from '../../contract/index.ts'
import { allEnvironments, appOf } from '../all-environments.ts'
import type { ClientCall } from '../command.ts'
import { noteOnAddress } from '../connection/site.ts'
import { changeWithEtag } from '../etag-change.ts'
import { finish, finishInSight } from '../operation.ts'
import { ifMatch, makeSure, numberIn } from '../options.ts'
import { idFor } from '../output/people.ts'
import { pinOf } from '../output/pin.ts'
import { factsOf, oneLine, printList, printResult, when } from '../output/rows.ts'
import { visibilityInWords } from '../output/visibility.ts'
import { makeSureOfAccount } from '../project/accounts-used.ts'
import { type AtAccount, atAccount, atApp, atEnvironment, lastPart } from '../project/where.ts'
import { checkVariables, readPairs } from './variables/variable-pairs.ts'

/** Of one app where `--app` or the project names it; else of all apps. */
export async function listEnvironments(call: ClientCall): Promise<undefined> {
  const app = optionText(call.options, 'app')
  if (call.options.all && app !== undefined)
    throw new UsageError('--all is of all apps, and --app of one: give one of them')
  const at = await atAccount(call)
  if (call.options.all || (app ?? at.project.app) === undefined) return listOfAllApps(call, at)
  const { service, account, app: named } = await atApp(call)
  const path = { account, app: named }
  const list = service.client.list(`GET ${APP}/environments`, { path })
  const found = await Array.fromAsync(list)
  printList(call, found, {
    row: (one) => rowOf(call, one),
    empty: `No environments in ${named} yet. 'headland envs create NAME --cms INSTALL' makes one, and 'headland deploy' does too.`,
  })
}

async function listOfAllApps(call: ClientCall, { service, account }: AtAccount): Promise<undefined> {
  const found = await allEnvironments(service, account)
  // Sorting is stable: within an app the newest stays first.
  const sorted = found.toSorted((a, b) => names.fold(appOf(a)).localeCompare(names.fold(appOf(b)), 'en'))
  printList(call, sorted, {
    row: (one) => ({ app: appOf(one), ...rowOf(call, one) }),
    empty: `No environments in the account ${account} yet. 'headland deploy' makes an app and its first environment.`,
  })
}

const rowOf = ({ terminal }: ClientCall, one: Environment) => ({
  environment: one.displayName,
  id: idFor(terminal, one.name),
  state: stateOf(one),
  'latest build': one.latestBuild?.state ?? '',
  url: one.url,
  changed: when(terminal, one.updateTime),
})

export async function createEnvironment(call: ClientCall): Promise<undefined> {
  const { options, terminal } = call
  const rootDirectory = optionText(options, 'root')
  const body = {
    displayName: call.positionals[0] ?? '',
    branch: optionText(options, 'branch') ?? names.UPLOADABLE,
    cmsEnvironment: requiredOption(options, 'cms'),
    shellVariables: checkVariables(await readPairs(call, (options.variable ?? []) as string[])),
    ...(rootDirectory === undefined ? {} : { rootDirectory }),
    ...instancesIn(call),
    ...switchesIn(call),
    ...learnedCachingIn(call),
    ...snapshotsIn(call),
  }
  const at = await atApp(call)
  if (body.shellVariables.length > 0) await makeSureOfAccount(call, at)
  const path = { account: at.account, app: at.app }
  const asked = await at.service.client.call(`POST ${APP}/environments`, { path, body })
  const made = await finishInSight({ ...at, terminal }, asked)
  printResult(call, made, `Made the environment ${oneLine(made.displayName)} (${lastPart(made)}). It answers at`)
  if (options.json) return
  terminal.print(oneLine(made.url))
  const note = noteOnAddress(made.url, at.service.url)
  if (note) terminal.say(note)
}

const BADGE = `GET ${ENVIRONMENT}/badge.svg` satisfies RouteName

export async function showEnvironment(call: ClientCall): Promise<undefined> {
  const { environment, service, names: path } = await atNamed(call)
  if (call.options.json) return void call.terminal.print(JSON.stringify(environment))
  const badge = environment.badge ? new URL(addressOf(BADGE, path).path, service.url).href : undefined
  call.terminal.print(factsOf({ ...facts(call, environment), badge }))
}

export async function changeEnvironment(call: ClientCall): Promise<undefined> {
  const given = {
    displayName: optionText(call.options, 'name'),
    cmsEnvironment: optionText(call.options, 'cms'),
    branch: optionText(call.options, 'branch'),
    // An empty value is the top folder here.
    rootDirectory: call.options.root as string | undefined,
  }
  const limits = limitsIn(call)
  const checks = checksIn(call)
  const settings = { ...instancesIn(call), ...switchesIn(call), ...learnedCachingIn(call), ...snapshotsIn(call) }
  const texts = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  if (Object.keys({ ...texts, ...limits, ...checks, ...settings }).length === 0)
    throw new UsageError(
      'nothing to change: give --name, --cms, --branch, --root, --production, --badge, --learned-caching, --suspicious-output, --content-snapshots, a limit of lost pages, --promotion-checks, --check-pages, --check-timeout or a number of instances',
    )
  const { service, names: path, environment } = await atNamed(call)
  const suspiciousOutput = { ...environment.suspiciousOutput, ...limits }
  const body: Partial<ChangedEnvironment> = {
    ...texts,
    ...settings,
    ...(Object.keys(limits).length > 0 ? { suspiciousOutput } : {}),
    ...(Object.keys(checks).length > 0 ? { promotionChecks: { ...storedChecks(environment), ...checks } } : {}),
  }
  const fields = Object.keys(body) as (
    | keyof typeof given
    | keyof resources.Scaling
    | 'production'
    | 'badge'
    | 'learnedCaching'
    | 'suspiciousOutput'
    | 'promotionChecks'
    | 'contentSnapshots'
  )[]
  const asked = await changeWithEtag({
    first: environment,
    read: () => service.client.call(`GET ${ENVIRONMENT}`, { path }),
    write: ({ etag }) => service.client.call(`PATCH ${ENVIRONMENT}`, { path, body: { ...body, etag } }),
    clash: (first, now) =>
      fields.filter((field) => !isSame(now[field], first[field]) && !isSame(now[field], body[field])),
  })
  const changed = await finishInSight({ ...call, service }, asked)
  const later = given.rootDirectory === undefined ? '' : " The next build is of the other folder: 'headland rebuild'."
  printResult(call, changed, `Changed ${oneLine(changed.displayName)} (${lastPart(changed)}).${later}`)
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Those of the limits that were given. */
function limitsIn({ options }: ClientCall): Partial<SuspiciousOutput> {
  const action = optionText(options, 'suspicious-output')
  const percent = optionText(options, 'max-lost-pages')
  const pages = optionText(options, 'min-lost-pages')
  return {
    ...(action === undefined ? {} : { action: action.toUpperCase() as SuspiciousOutput['action'] }),
    ...(percent === undefined ? {} : { maxLostPagesPercent: numberIn(percent, '--max-lost-pages', 0) }),
    ...(pages === undefined ? {} : { minLostPages: numberIn(pages, '--min-lost-pages', 1) }),
  }
}

/** Those of the settings of checks that were given. */
function checksIn({ options }: ClientCall): ChangedPromotionChecks {
  const mode = optionText(options, 'promotion-checks')
  const pages = optionText(options, 'check-pages')
  const seconds = optionText(options, 'check-timeout')
  return {
    ...(mode === undefined ? {} : { mode: mode.toUpperCase() as resources.PromotionCheckMode }),
    ...(pages === undefined ? {} : { pages: numberIn(pages, '--check-pages', 1) }),
    ...(seconds === undefined ? {} : { timeoutSeconds: numberIn(seconds, '--check-timeout', 1) }),
  }
}

/** Without what AUTO means now, which the service finds out. */
function storedChecks({ promotionChecks }: Partial<Environment>): ChangedPromotionChecks {
  if (!promotionChecks) return {}
  const { mode, pages, timeoutSeconds } = promotionChecks
  return { mode, pages, timeoutSeconds }
}

/** Those of the settings of instances that were given. */
function instancesIn({ options }: ClientCall): Partial<resources.Scaling> {
  const min = optionText(options, 'min-instances')
  const max = optionText(options, 'max-instances')
  const requests = optionText(options, 'requests-per-instance')
  return {
    ...(min === undefined ? {} : { minInstances: numberIn(min, '--min-instances', 0) }),
    ...(max === undefined ? {} : { maxInstances: numberIn(max, '--max-instances', 1) }),
    ...(requests === undefined ? {} : { requestsPerInstance: numberIn(requests, '--requests-per-instance', 1) }),
  }
}

/** Those of the switches that were given. */
function switchesIn({ options }: ClientCall): { production?: boolean; badge?: boolean } {
  const [production, badge] = [optionText(options, 'production'), optionText(options, 'badge')]
  return {
    ...(production === undefined ? {} : { production: production === 'yes' }),
    ...(badge === undefined ? {} : { badge: badge === 'yes' }),
  }
}

/** The seconds, or null for `off`; nothing where it was not given. */
function learnedCachingIn({ options }: ClientCall): { learnedCaching?: LearnedCaching | null } {
  const given = optionText(options, 'learned-caching')
  if (given === undefined) return {}
  return { learnedCaching: given === 'off' ? null : { maxAgeSeconds: numberIn(given, '--learned-caching', 1) } }
}

/** The hosts, with commas between them; `off` for none. */
function snapshotsIn({ options }: ClientCall): { contentSnapshots?: ContentSnapshots | null } {
  const given = optionText(options, 'content-snapshots')
  if (given === undefined) return {}
  const hosts = given.split(',').map((host) => host.trim().toLowerCase())
  return { contentSnapshots: given === 'off' ? null : { hosts } }
}

export async function deleteEnvironment(call: ClientCall): Promise<undefined> {
  const { service, names: path, environment } = await atNamed(call)
  const named = `${oneLine(environment.displayName)} (${lastPart(environment)})`
  const warning = `This deletes the environment ${named} with its site, builds, webhooks and domains, for good.`
  await makeSure(call, warning, environment.displayName)
  const headers = ifMatch(call, environment)
  const asked = await service.client.call(`DELETE ${ENVIRONMENT}`, { path, headers })
  const { response } = await finish(service, asked)
  printResult(call, response ?? {}, `Deleted the environment ${named}.`)
}

/** The environment that is given as an argument, or the one that every other command would use. */
const atNamed = (call: ClientCall) => {
  const [env] = call.positionals
  if (env === '') throw new UsageError('the name of the environment is empty')
  return atEnvironment(env === undefined ? call : { ...call, options: { ...call.options, env } })
}

function stateOf({ state, reconciling, pin }: Environment): string {
  if (state === 'DELETING') return state
  return [state, ...(reconciling ? ['changing'] : []), ...(pin ? ['pinned'] : [])].join(', ')
}

const facts = ({ terminal }: ClientCall, one: Environment) => ({
  environment: one.displayName,
  id: lastPart(one),
  name: one.name,
  state: stateOf(one),
  url: one.url,
  domains: one.domains.join(', '),
  cms: one.cmsEnvironment,
  branch: one.branch === names.UPLOADABLE ? '' : one.branch,
  root: one.rootDirectory,
  // A service of an earlier version has none of the next four.
  visibility: 'protection' in one ? visibilityInWords(one) : undefined,
  'suspicious output': (one as Partial<Environment>).suspiciousOutput && limitsInWords(one.suspiciousOutput),
  'promotion checks': (one as Partial<Environment>).promotionChecks && checksInWords(one.promotionChecks),
  'learned caching': one.learnedCaching ? `pages are kept for ${one.learnedCaching.maxAgeSeconds} seconds` : undefined,
  'content snapshots': one.contentSnapshots?.hosts.map(oneLine).join(', '),
  instances: 'maxInstances' in one ? instancesInWords(one) : undefined,
  held: one.held && `${lastPart({ name: one.held.deployment })}, not live: ${oneLine(one.held.message)}`,
  retry: one.retry && retryInWords(one.retry),
  'publish promise': one.publishPromiseSeconds ? `${one.publishPromiseSeconds} s` : undefined,
  variables: one.shellVariables.map(({ key }) => key).join(', '),
  deployment: one.deployment && lastPart({ name: one.deployment }),
  build: one.build && lastPart({ name: one.build }),
  pinned: pinOf(one, (time) => when(terminal, time)),
  created: when(terminal, one.createTime),
  changed: when(terminal, one.updateTime),
})

const limitsInWords = ({ action, maxLostPagesPercent, minLostPages }: SuspiciousOutput): string =>
  `${action.toLowerCase()}, above ${maxLostPagesPercent} % and ${minLostPages} lost pages`

const checksInWords = ({ mode, effectiveMode, pages, timeoutSeconds }: Environment['promotionChecks']): string =>
  `${mode.toLowerCase()}${mode === 'AUTO' ? ` (${effectiveMode.toLowerCase()} now)` : ''}, ${pages} pages within ${timeoutSeconds} s`

const instancesInWords = ({ minInstances: min, maxInstances: max, requestsPerInstance }: resources.Scaling): string =>
  min === max ? `always ${max}` : `${min} to ${max}, another one above ${requestsPerInstance} requests in flight`

const retryInWords = ({ hosts, givenUp, rebuilds }: Retry): string => {
  if (givenUp) return `given up after ${rebuilds} rebuilds by the service`
  return hosts.length > 0 ? `built again when ${hosts.map(oneLine).join(' and ')} answers` : 'built again in a while'
}
