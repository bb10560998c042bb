/** Environments: places where one version of an app answers, each under its own host name. */
import { names, optionText, requiredOption, type resources, UsageError } from '../../contract/index.ts'
import { makeSureOfAccount } from '../accounts-used.ts'
import { allEnvironments, appOf } from '../all-environments.ts'
import type { ClientCall } from '../command.ts'
import { changeOnTop } from '../on-top.ts'
import { finish, finishInSight } from '../operation.ts'
import { ifMatch, makeSure } from '../options.ts'
import { api } from '../path.ts'
import { factsOf, oneLine, printList, tell, when } from '../rows.ts'
import { noteOnAddress } from '../site.ts'
import { type AtAccount, atAccount, atApp, atEnvironment, lastPart } from '../where.ts'
import { checkVariables, readPairs } from './variable-pairs.ts'

/** Those of one app where it is known, by `--app` or the project; else of all apps. */
export async function listEnvironments(call: ClientCall): Promise<undefined> {
  const app = optionText(call.options, 'app')
  if (call.options.all && app !== undefined)
    throw new UsageError('--all is of all apps, and --app of one: give one of them')
  const at = await atAccount(call)
  if (call.options.all || (app ?? at.project.app) === undefined) return listOfAllApps(call, at)
  const { service, account, app: named } = await atApp(call)
  const found = await service.list<resources.Environment>(
    api`/v1/accounts/${account}/apps/${named}/environments`,
    'environments',
  )
  printList(call, found, {
    row: (one) => rowOf(call, one),
    empty: `No environments in ${named} yet. 'headland envs create NAME --cms INSTALL' makes one, and 'headland deploy' does too.`,
  })
}

async function listOfAllApps(call: ClientCall, { service, account }: AtAccount): Promise<undefined> {
  const found = await allEnvironments(service, api`accounts/${account}`)
  // Sorting is stable: within an app the newest stays first.
  const sorted = found.toSorted((a, b) => names.fold(appOf(a)).localeCompare(names.fold(appOf(b)), 'en'))
  printList(call, sorted, {
    row: (one) => ({ app: appOf(one), ...rowOf(call, one) }),
    empty: `No environments in the account ${account} yet. 'headland deploy' makes an app and its first environment.`,
  })
}

const rowOf = ({ terminal }: ClientCall, one: resources.Environment) => ({
  environment: one.displayName,
  id: lastPart(one),
  state: stateOf(one),
  'latest build': one.latestBuild?.state ?? '',
  url: one.url,
  changed: when(terminal, one.updateTime),
})

export async function createEnvironment(call: ClientCall): Promise<undefined> {
  const { options, terminal } = call
  const rootDirectory = optionText(options, 'root')
  const body = {
    displayName: call.positionals[0],
    branch: 'uploadable',
    cmsEnvironment: requiredOption(options, 'cms'),
    shellVariables: checkVariables(await readPairs(call, (options.variable ?? []) as string[])),
    ...(rootDirectory === undefined ? {} : { rootDirectory }),
  }
  const at = await atApp(call)
  if (body.shellVariables.length > 0) await makeSureOfAccount(call, at)
  const path = api`/v1/accounts/${at.account}/apps/${at.app}/environments`
  const asked = await at.service.call<resources.Operation>(path, { method: 'POST', body })
  const made = await finishInSight({ ...at, terminal }, asked)
  tell(call, made, `Made the environment ${oneLine(made.displayName)} (${lastPart(made)}). It answers at`)
  if (options.json) return
  terminal.print(oneLine(made.url))
  const note = noteOnAddress(made.url, at.service.url)
  if (note) terminal.say(note)
}

export async function showEnvironment(call: ClientCall): Promise<undefined> {
  const { environment } = await atNamed(call)
  if (call.options.json) call.terminal.print(JSON.stringify(environment))
  else call.terminal.print(factsOf(facts(call, environment)))
}

export async function changeEnvironment(call: ClientCall): Promise<undefined> {
  const given = {
    displayName: optionText(call.options, 'name'),
    cmsEnvironment: optionText(call.options, 'cms'),
    // Empty is a folder here: the top one.
    rootDirectory: call.options.root as string | undefined,
  }
  const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  if (Object.keys(body).length === 0) throw new UsageError('nothing to change: give --name, --cms or --root')
  const { service, path, environment } = await atNamed(call)
  const fields = Object.keys(body) as (keyof typeof given)[]
  const asked = await changeOnTop({
    first: environment,
    read: () => service.call<resources.Environment>(path),
    write: ({ etag }) => service.call<resources.Operation>(path, { method: 'PATCH', body: { ...body, etag } }),
    clash: (first, now) => fields.filter((field) => now[field] !== first[field] && now[field] !== body[field]),
  })
  const changed = await finishInSight({ ...call, service }, asked)
  const later = given.rootDirectory === undefined ? '' : " The next build is of the other folder: 'headland rebuild'."
  tell(call, changed, `Changed ${oneLine(changed.displayName)} (${lastPart(changed)}).${later}`)
}

export async function deleteEnvironment(call: ClientCall): Promise<undefined> {
  const { service, path, environment } = await atNamed(call)
  const named = `${oneLine(environment.displayName)} (${lastPart(environment)})`
  const warning = `This deletes the environment ${named} with its site, builds, webhooks and domains, for good.`
  await makeSure(call, warning, environment.displayName)
  const headers = ifMatch(call, environment)
  const asked = await service.call<resources.Operation>(path, { method: 'DELETE', headers })
  const { response } = await finish(service, asked)
  tell(call, response ?? {}, `Deleted the environment ${named}.`)
}

/** The environment that stands behind the command, or the one that every other command would take. */
const atNamed = (call: ClientCall) => {
  const [env] = call.positionals
  if (env === '') throw new UsageError('the name of the environment is empty')
  return atEnvironment(env === undefined ? call : { ...call, options: { ...call.options, env } })
}

const stateOf = ({ state, reconciling }: resources.Environment): string =>
  reconciling && state !== 'DELETING' ? `${state}, changing` : state

const facts = ({ terminal }: ClientCall, one: resources.Environment) => ({
  environment: one.displayName,
  id: lastPart(one),
  name: one.name,
  state: stateOf(one),
  url: one.url,
  domains: one.domains.join(', '),
  cms: one.cmsEnvironment,
  root: one.rootDirectory,
  variables: one.shellVariables.map(({ key }) => key).join(', '),
  deployment: one.deployment && lastPart({ name: one.deployment }),
  build: one.build && lastPart({ name: one.build }),
  created: when(terminal, one.createTime),
  changed: when(terminal, one.updateTime),
})
