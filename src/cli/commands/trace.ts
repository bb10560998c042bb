/** "Why do I see this version?": the answer in a sentence, and the facts behind it. */
import { ENVIRONMENT, type Environment, type Trace } from '../../client/index.ts'
import { names, optionText, type resources, table, UsageError } from '../../contract/index.ts'
import { allEnvironments, appOf } from '../all-environments.ts'
import type { ClientCall } from '../command.ts'
import type { Service } from '../connection/service.ts'
import { factsOf, oneLine, sizeOf, when } from '../output/rows.ts'
import { type EnvironmentNames, environmentIn, namesIn } from '../project/resource-names.ts'
import { accountsOf, atEnvironment, atService, lastPart } from '../project/where.ts'

export async function trace(call: ClientCall): Promise<undefined> {
  const { service, names: path } = await environmentAt(call)
  const query = { url: call.positionals[0] ?? '' }
  const found = await service.client.call(`GET ${ENVIRONMENT}:trace`, { path, query })
  call.terminal.print(call.options.json ? JSON.stringify(found) : inWords(call, found))
}

/** A path belongs to the environment that every other command would use; for a whole address it is found by its host. */
export async function environmentAt(call: ClientCall): Promise<{ service: Service; names: EnvironmentNames }> {
  const [address = ''] = call.positionals
  if (address.startsWith('/') || call.options.env !== undefined) return atEnvironment(call)
  const url = URL.parse(address)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`'${address}' is neither a path, as /news, nor an address that begins with https://`)
  }
  const { service } = await atService(call)
  const host = url.hostname.replace(/\.$/, '')
  for await (const environment of environmentsOf(call, service)) {
    if (hostsOf(environment).includes(host)) return { service, names: environmentIn(environment.name) }
  }
  throw new UsageError(`no environment that you can see answers at ${host}`)
}

/** All that the caller can see, unless an account or an app narrows it. */
async function* environmentsOf({ options }: ClientCall, service: Service): AsyncGenerator<Environment> {
  const [account, app] = [optionText(options, 'account'), optionText(options, 'app')]
  const accounts = account ? [account] : (await accountsOf(service)).map(({ name }) => namesIn(name, 'account').account)
  for (const owner of accounts) {
    const all = await allEnvironments(service, owner)
    yield* all.filter((found) => app === undefined || names.fold(appOf(found)) === names.fold(app))
  }
}

const hostsOf = ({ url, domains }: Environment): string[] => [...(url ? [new URL(url).hostname] : []), ...domains]

function inWords(call: ClientCall, found: Trace): string {
  const { terminal } = call
  const { url, verdict, deployment, build, stored, origin, timeline } = found
  const about = factsOf({
    url,
    live: deployment && `deployment ${lastPart({ name: deployment })}`,
    build: build && lastPart({ name: build }),
    origin: origin.detail,
    stored: stored.length === 0 ? 'nothing' : undefined,
  })
  const events = timeline.map(({ time, what, detail }) => ({
    time: when(terminal, time),
    what,
    detail: oneLine(detail),
  }))
  return [
    terminal.paint('bold', oneLine(verdict)),
    about,
    ...stored.map((one, index) => `stored ${index + 1} of ${stored.length}\n${indented(copyOf(call, one))}`),
    table(events),
  ].join('\n\n')
}

const COMPARED: Record<resources.Comparison, string> = {
  SAME: 'the same as the app answers now',
  DIFFERENT: 'not what the app answers now',
  UNKNOWN: 'cannot be held against what the app answers now',
}

function copyOf({ terminal }: ClientCall, one: Trace['stored'][number]): string {
  const variant = Object.entries(one.variant).map(([header, value]) => `${header}: ${value as string}`)
  return factsOf({
    answer: `${one.status}, ${sizeOf(one.bytes)}, in ${one.place === 'memory' ? 'memory' : 'the log on the disk'}`,
    stored: when(terminal, one.storeTime),
    validated: one.validateTime === one.storeTime ? undefined : when(terminal, one.validateTime),
    age: `${one.ageSeconds} s of ${one.lifetimeSeconds} s${one.fresh ? '' : ', stale'} (${one.lifetimeFrom})`,
    compared: COMPARED[one.comparison],
    used: one.hits === 1 ? 'once' : `${one.hits} times`,
    'made by': `deployment ${lastPart({ name: one.deployment })}`,
    tags: one.tags.join(', '),
    'chosen by': variant.join(', '),
    etag: one.etag,
  })
}

const indented = (text: string): string => text.replaceAll(/^/gm, '  ')
