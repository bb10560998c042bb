/**
 * The account, app and environment of a deploy. First they are decided: by options, by `.headland.json`, by questions, or by
 * defaults; then what is missing is created, after it was shown.
 */
import { didYouMean, nearest } from '../../base/index.ts'
import {
  ACCOUNT,
  APP,
  ENVIRONMENT,
  type Environment,
  type NewEnvironment,
  type ShellVariable,
} from '../../client/index.ts'
import { names, optionText, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { noteOnAddress } from '../connection/site.ts'
import { finish } from '../operation.ts'
import type { Report } from '../output/report.ts'
import { oneLine } from '../output/rows.ts'
import { Interrupted } from '../output/terminal.ts'
import { askText, choose, confirm } from '../questions.ts'
import { withSuggestions } from '../suggestions.ts'
import { makeSureOfAccount } from './accounts-used.ts'
import { isWholeId } from './ids.ts'
import { namesIn, regionNamed } from './resource-names.ts'
import { type AtService, accountsOf, called, lastPart, wellFormed } from './where.ts'

export type Target = {
  account: string
  app: string
  environment: Environment
  /** It was created for this deploy, together with its variables. */
  isNew: boolean
}

/** An environment that exists, or the facts of one that is to be created. */
type Decision = {
  account: string
  app: string
  newApp?: { region: string }
  environment: Environment | { displayName: string; cmsEnvironment: string; rootDirectory: string }
}

type Parts = {
  call: ClientCall
  at: AtService
  /** What a new app would be called. */
  suggestedApp: string
  report: Report
  signal: AbortSignal
  /** The variables of a new environment for the app in this folder of the project. */
  newVariables(rootDirectory: string): Promise<ShellVariable[]>
}

export async function findTarget(parts: Parts, { mayCreate }: { mayCreate: boolean }): Promise<Target> {
  const decision = await decide(parts)
  const { account, app, newApp, environment } = decision
  if ('name' in environment) return { account, app, environment, isNew: false }
  if (!mayCreate) throw new UsageError(`there is no environment '${environment.displayName}' in ${app} yet`)
  const { call, report, signal } = parts
  const { service } = parts.at
  const { client } = service
  const shellVariables = await parts.newVariables(environment.rootDirectory)
  await show(
    parts,
    decision,
    shellVariables.map(({ key }) => key),
  )

  if (newApp) {
    await client.call(`POST ${ACCOUNT}/apps`, {
      path: { account },
      query: { appId: app },
      body: { region: regionNamed(newApp.region), uploadable: {} },
      signal,
    })
    report.created('app', app)
  }
  const { rootDirectory, ...facts } = environment
  const body: NewEnvironment = {
    ...facts,
    branch: 'uploadable',
    ...(shellVariables.length > 0 ? { shellVariables } : {}),
    ...(rootDirectory === '' ? {} : { rootDirectory }),
  }
  const asked = await client.call(`POST ${APP}/environments`, { path: { account, app }, body, signal })
  call.terminal.status('Making the environment …')
  const done = await finish(service, asked, undefined, signal)
  call.terminal.status(undefined)
  report.created('environment', environment.displayName)
  const made = done.response as Environment
  const note = noteOnAddress(made.url, service.url)
  if (note) report.note(note)
  return { account, app, environment: made, isNew: true }
}

async function show(
  { call: { terminal, options }, at: { service } }: Parts,
  { app, newApp, environment }: Decision,
  variables: readonly string[],
) {
  if (!terminal.isInteractive || options.yes || 'name' in environment) return
  const { displayName, cmsEnvironment, rootDirectory } = environment
  terminal.say(`\nThis will be made at ${service.url}:`)
  if (newApp) terminal.say(`  app          ${app}, in ${newApp.region}`)
  const folder = rootDirectory === '' ? '' : `, from the folder ${rootDirectory}`
  terminal.say(`  environment  ${oneLine(displayName)}, of the CMS install ${oneLine(cmsEnvironment)}${folder}`)
  if (variables.length > 0) terminal.say(`  variables    ${variables.join(', ')}`)
  if (!(await confirm(terminal, 'Go on?', true))) throw new Interrupted()
}

async function decide({ call, at, suggestedApp }: Parts): Promise<Decision> {
  const { service, project } = at
  const { terminal, options } = call
  const isAsking = terminal.isInteractive && !options.yes
  const flag = (name: string) => optionText(options, name)

  const account = await decideAccount()
  await makeSureOfAccount(call, { ...at, account })
  const inAccount = withSuggestions(service, { account })
  const apps = await Array.fromAsync(inAccount.client.list(`GET ${ACCOUNT}/apps`, { path: { account } }))
  const app = await decideApp()
  const found = apps.find((one) => names.fold(lastPart(one)) === names.fold(app))
  const appName = found ? lastPart(found) : app
  const newApp = found ? undefined : { region: await decideRegion() }
  const ofApp = found ? namesIn(found.name, 'account', 'app') : undefined
  const environments = ofApp
    ? await Array.fromAsync(service.client.list(`GET ${APP}/environments`, { path: ofApp }))
    : []
  const environment = await decideEnvironment()
  return { account, app: appName, ...(newApp ? { newApp } : {}), environment }

  async function decideAccount(): Promise<string> {
    const named = flag('account') ?? project.account
    if (named !== undefined) return wellFormed(named, names.accountName.pattern, 'account')
    const accounts = (await accountsOf(service)).map(lastPart)
    const [only] = accounts
    if (only === undefined) throw new UsageError(`you belong to no account of ${service.url}`)
    if (accounts.length === 1) return only
    if (isAsking) return choose(terminal, 'Which account?', accounts.map(asChoice))
    throw new UsageError(`which account? --account, one of ${accounts.join(', ')}`)
  }

  async function decideApp(): Promise<string> {
    const named = flag('app') ?? project.app
    if (named !== undefined) {
      wellFormed(named, names.appName.pattern, 'app')
      const isThere = apps.some((one) => names.fold(lastPart(one)) === names.fold(named))
      return isThere ? named : meantInstead('app', named, apps.map(lastPart))
    }
    if (options.yes) return suggestedApp
    const there = apps.map(lastPart)
    if (!isAsking) {
      const known = there.length > 0 ? `; there are ${there.join(', ')}` : ''
      throw new UsageError(`which app? --app NAME, or --yes for '${suggestedApp}'${known}`)
    }
    const suggested = there.findIndex((name) => names.fold(name) === names.fold(suggestedApp))
    const choices = [...there.map(asChoice), { name: 'a new one', value: undefined }]
    const chosen =
      there.length === 0
        ? undefined
        : await choose(terminal, 'Which app?', choices, suggested < 0 ? there.length : suggested)
    return chosen ?? askText(terminal, 'Name of the new app', suggestedApp, faultOfAppName)
  }

  async function decideRegion(): Promise<string> {
    const given = flag('region')?.replace(/^regions\//, '')
    if (given !== undefined) return given
    const regions = await Array.fromAsync(service.client.list('GET /v1/regions'))
    const ids = regions.map(lastPart)
    // Where the newest app is, the next one is likely to be.
    const suggested = Math.max(0, ids.indexOf(apps[0]?.region.replace('regions/', '') ?? ''))
    if (isAsking) {
      const choices = regions.map((one) => ({ name: `${lastPart(one)}, ${one.displayName}`, value: lastPart(one) }))
      return choose(terminal, `In which region is ${app} hosted?`, choices, suggested)
    }
    if (options.yes && ids[suggested] !== undefined) return ids[suggested]
    throw new UsageError(`there is no app '${app}' yet; to make it, add --region, one of ${ids.join(', ')}`)
  }

  async function decideEnvironment(): Promise<Decision['environment']> {
    const named = flag('env') ?? project.environment
    if (named !== undefined && isWholeId(named)) {
      if (!ofApp)
        throw new UsageError(`there is no app '${app}' in ${account} that could have the environment ${named}`)
      return withRoot(await service.client.call(`GET ${ENVIRONMENT}`, { path: { ...ofApp, environment: named } }))
    }
    const fitting = await fittingTo(named)
    if (fitting.length === 1 && fitting[0]) return withRoot(fitting[0])
    if (fitting.length > 1) {
      if (!isAsking) throw new UsageError(`which environment? --env, one of ${fitting.map(inWords).join(', ')}`)
      const there = fitting.map((one) => ({ name: inWords(one), value: one }))
      const chosen = await choose(terminal, 'Which environment?', [...there, { name: 'a new one', value: undefined }])
      if (chosen) return withRoot(chosen)
    }
    return { ...(await decideNew(named)), rootDirectory: flag('root') ?? '' }
  }

  async function fittingTo(named: string | undefined): Promise<Environment[]> {
    // A preview is meant only if it is named.
    if (named === undefined) return environments.filter(({ preview }) => !preview)
    const found = called(environments, named)
    if (found.length > 0) return found
    const titles = environments.map(({ displayName }) => displayName)
    const meant = await meantInstead('environment', named, titles)
    return meant === named ? [] : called(environments, meant)
  }

  /** A name that does not exist is created, unless it looks like a typing error for one that exists. */
  async function meantInstead(what: 'app' | 'environment', named: string, there: readonly string[]): Promise<string> {
    const [near] = options.create ? [] : nearest(named, there)
    if (near === undefined) return named
    const fault = `there is no ${what} '${oneLine(named)}'.${didYouMean(named, there)}`
    if (!isAsking) throw new UsageError(`${fault} To make it all the same: ${commandToMake(what)}`)
    terminal.say(fault.replace('t', 'T'))
    return (await confirm(terminal, `Deploy to '${oneLine(near)}'?`, true)) ? near : named
  }

  /** The options that were given, and those that are needed without a terminal. */
  function commandToMake(what: 'app' | 'environment'): string {
    const needed: Record<string, string | undefined> =
      what === 'app'
        ? { region: 'REGION', env: FIRST, cms: 'INSTALL' }
        : { cms: environments[0]?.cmsEnvironment ?? appName }
    const flags = ['account', 'app', 'region', 'env', 'cms', 'root'].flatMap((name) => {
      const value = flag(name) ?? (options.yes ? undefined : needed[name])
      return value === undefined ? [] : [`--${name} ${shellWord(value)}`]
    })
    return ['headland deploy', ...flags, '--create', ...(options.yes ? ['--yes'] : [])].join(' ')
  }

  async function decideNew(named: string | undefined) {
    if (named === undefined && !isAsking && !options.yes) {
      throw new UsageError(`which environment of ${app}? --env NAME, as in --env Production; there is none yet`)
    }
    const displayName = named ?? (isAsking ? await askText(terminal, 'Name of the new environment', FIRST) : FIRST)
    const suggested = environments[0]?.cmsEnvironment ?? app
    const given = flag('cms')
    if (given === undefined && !isAsking && !options.yes) {
      throw new UsageError(`there is no environment '${displayName}' in ${app} yet; to make it, add --cms INSTALL`)
    }
    const cmsEnvironment =
      given ?? (isAsking ? await askText(terminal, 'CMS install that it shows', suggested) : suggested)
    return { displayName, cmsEnvironment }
  }

  function withRoot(environment: Environment): Environment {
    const root = flag('root')
    if (root === undefined || root === environment.rootDirectory) return environment
    throw new UsageError(
      `${environment.displayName} is there already, with the folder '${environment.rootDirectory}': 'headland envs change --root' gives it another`,
    )
  }
}

const FIRST = 'Production'
const APP_NAME = new RegExp(String(names.appName.pattern))

/** Quoted as one word of a shell. */
const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${oneLine(text).replaceAll("'", "'\\''")}'`

const asChoice = (name: string) => ({ name, value: name })

const inWords = (environment: Environment): string => `${environment.displayName} (${lastPart(environment)})`

const faultOfAppName = (name: string): string | undefined =>
  APP_NAME.test(name) ? undefined : String(names.appName.description)

/** A name for an app, from the name of the project. */
export function appNameFrom(...texts: readonly (string | undefined)[]): string {
  for (const text of texts) {
    const name = (text ?? '')
      .replace(/^@[^/]*\//, '')
      .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
      .replaceAll(/^[-_]+|-+$/g, '')
      .slice(0, 40)
    if (APP_NAME.test(name)) return name
  }
  return 'app'
}
