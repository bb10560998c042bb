/** Domains: host names of one's own that lead to an environment. */
import { domainToASCII } from 'node:url'
import { didYouMean } from '../../base/index.ts'
import { type resources, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { changeOnTop } from '../on-top.ts'
import { api } from '../path.ts'
import { oneLine, tell } from '../rows.ts'
import { type AtEnvironment, atEnvironment } from '../where.ts'

export async function listDomains(call: ClientCall): Promise<undefined> {
  const { terminal, options } = call
  const at = await atEnvironment(call)
  const { domains } = await read(at)
  if (options.json) terminal.print(JSON.stringify(domains))
  else if (domains.length > 0) terminal.print(domains.map(oneLine).join('\n'))
  else
    terminal.say(
      `No domains yet: the site answers at ${oneLine(at.environment.url)} alone. 'headland domains add NAME' adds one.`,
    )
}

export async function addDomains(call: ClientCall): Promise<undefined> {
  const at = await atEnvironment(call)
  const first = await read(at)
  const { domains: before } = first
  const given = call.positionals.filter((name, index, all) => !isIn(all.slice(0, index), name))
  const after = await change(at, first, (known) => [...known, ...given.filter((name) => !isIn(known, name))])
  const added = after
    .filter((name) => !before.includes(name) && isIn(given, name))
    .map(oneLine)
    .join(', ')
  const words = added
    ? `${named(at)} answers at ${added} too, once its DNS leads here.`
    : `${named(at)} has it already.`
  tell(call, after, words)
}

export async function removeDomains(call: ClientCall): Promise<undefined> {
  const at = await atEnvironment(call)
  const first = await read(at)
  const { domains: before } = first
  const unknown = call.positionals.find((name) => !isIn(before, name))
  if (unknown !== undefined) {
    const meant = didYouMean(unknown, before)
    throw new UsageError(`${named(at)} has no domain '${unknown}'.${meant} It has: ${before.join(', ') || 'none'}`)
  }
  const after = await change(at, first, (known) => known.filter((name) => !isIn(call.positionals, name)))
  tell(call, after, `${named(at)} does not answer at ${call.positionals.join(', ')} any more.`)
}

const read = ({ service, path }: AtEnvironment): Promise<resources.Domains> =>
  service.call<resources.Domains>(api`${path}/domains`)

/** The API takes the list as a whole. What others add or remove meanwhile stays added or removed. */
async function change(
  at: AtEnvironment,
  first: resources.Domains,
  work: (known: string[]) => string[],
): Promise<string[]> {
  const { service, path } = at
  const changed = await changeOnTop({
    first,
    read: () => read(at),
    async write(known) {
      const domains = work(known.domains)
      if (domains.length === known.domains.length) return known
      const body = { domains, etag: known.etag }
      return service.call<resources.Domains>(api`${path}/domains:replace`, { method: 'POST', body })
    },
  })
  return changed.domains
}

const named = ({ environment }: AtEnvironment): string => oneLine(environment.displayName)

const isIn = (all: readonly string[], name: string): boolean => all.some((one) => plain(one) === plain(name))

/** As the service keeps them: ASCII, lower case, without the dot of the root. What is no name stays as it is. */
const plain = (name: string): string => domainToASCII(name.replace(/\.$/, '')) || name
