/** Domains: custom host names of an environment. */
import { domainToASCII } from 'node:url'
import { didYouMean } from '../../base/index.ts'
import { type DomainList, ENVIRONMENT, type NewDomains } from '../../client/index.ts'
import { type resources, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { changeWithEtag } from '../etag-change.ts'
import { oneLine, printList, printResult } from '../output/rows.ts'
import { hiddenHint } from '../output/visibility.ts'
import { type AtEnvironment, atEnvironment } from '../project/where.ts'

export async function listDomains(call: ClientCall): Promise<undefined> {
  const { terminal, options } = call
  const at = await atEnvironment(call)
  const { domains, redirects } = await read(at)
  const line = (name: string) => {
    const to = redirects.find(({ domain }) => domain === name)?.to
    return oneLine(to === undefined ? name : `${name} redirects to ${to}`)
  }
  if (options.json) terminal.print(JSON.stringify(domains))
  else if (domains.length > 0) terminal.print(domains.map(line).join('\n'))
  else
    terminal.say(
      `No domains yet: the site answers at ${oneLine(at.environment.url)} alone. 'headland domains add NAME' adds one.`,
    )
  hintAt(call, at, domains)
}

/** The public site is often the first one with a domain, and the service cannot know that it is. */
function hintAt({ terminal, options }: ClientCall, { environment }: AtEnvironment, domains: readonly string[]) {
  const hint = options.json ? undefined : hiddenHint(environment, domains)
  if (hint !== undefined) terminal.say(hint)
}

export async function addDomains(call: ClientCall): Promise<undefined> {
  const at = await atEnvironment(call)
  const first = await read(at)
  const { domains: before } = first
  const given = call.positionals.filter((name, index, all) => !isIn(all.slice(0, index), name))
  const after = await change(at, first, ({ domains }) => ({
    domains: [...domains, ...given.filter((name) => !isIn(domains, name))],
  }))
  const added = after
    .filter((name) => !before.includes(name) && isIn(given, name))
    .map(oneLine)
    .join(', ')
  const words = added
    ? `${named(at)} answers at ${added} too, once its DNS leads here: 'headland domains check' shows it.`
    : `${named(at)} has it already.`
  printResult(call, after, words)
  hintAt(call, at, after)
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
  const after = await change(at, first, ({ domains }) => ({
    domains: domains.filter((name) => !isIn(call.positionals, name)),
  }))
  printResult(call, after, `${named(at)} does not answer at ${call.positionals.join(', ')} any more.`)
}

/** Names that the environment does not have yet are added: a redirect is usually for a second name. */
export async function redirectDomain(call: ClientCall): Promise<undefined> {
  const [from = '', to] = call.positionals
  const isEnd = call.options.end === true
  if (isEnd === (to !== undefined)) {
    throw new UsageError('usage: headland domains redirect NAME TO, or headland domains redirect NAME --end')
  }
  const at = await atEnvironment(call)
  const first = await read(at)
  if (isEnd && !first.redirects.some(({ domain }) => isIn([domain], from))) {
    const known = first.redirects.map(({ domain }) => domain).join(', ')
    throw new UsageError(`'${from}' does not redirect; of ${named(at)} these do: ${known || 'none'}`)
  }
  const after = await change(at, first, ({ domains, redirects }) => {
    const others = redirects.filter(({ domain }) => !isIn([from, to ?? from], domain))
    if (to === undefined) return { domains, redirects: others }
    const added = [from, to].filter((name) => !isIn(domains, name))
    // The service accepts no chains: redirects to this name now lead to its new target.
    const moved = others.map((each) => (isIn([each.to], from) ? { ...each, to } : each))
    return { domains: [...domains, ...added], redirects: [...moved, { domain: from, to }] }
  })
  printResult(
    call,
    after,
    isEnd ? `${from} answers with the site.` : `Visitors of ${from} are sent to ${to}, with path and query.`,
  )
}

export async function checkDomains(call: ClientCall): Promise<undefined> {
  const { terminal, options } = call
  const { service, names: path, environment } = await atEnvironment(call)
  const found = await service.client.call(`GET ${ENVIRONMENT}/domains:check`, { path, query: { fresh: true } })
  if (options.json) return void terminal.print(JSON.stringify(found))
  const { checks, records } = found
  printList(call, checks, {
    row: ({ domain, dns, certificate }) => ({
      domain,
      dns: [DNS_WORDS[dns.state], dns.addresses.join(' ')].filter(Boolean).join(': '),
      certificate: [
        CERTIFICATE_WORDS[certificate.state],
        ...(certificate.validUntil ? [`until ${certificate.validUntil.slice(0, 10)}`] : []),
        ...(certificate.issuer ? [`by ${certificate.issuer}`] : []),
      ].join(', '),
    }),
    empty: `No domains yet: the site answers at ${oneLine(environment.url)} alone. 'headland domains add NAME' adds one.`,
  })
  const entries = records.map(({ type, value }) => oneLine(`${type} ${value}`))
  const addresses = records.some(({ type }) => type !== 'CNAME')
  if (entries.length > 0) terminal.say(`In DNS, a name needs one of: ${entries.join(', ')}.`)
  if (!addresses) terminal.say('The service does not know its own addresses; its operator can set publicAddresses.')
}

const DNS_WORDS: Record<resources.DnsState, string> = {
  CHECKING: 'being checked, ask again',
  HERE: 'leads here',
  PARTLY: 'leads here in part',
  ELSEWHERE: 'leads elsewhere',
  NOWHERE: 'not in DNS',
  NO_ANSWER: 'DNS does not answer',
  UNKNOWN: 'not known',
}

const CERTIFICATE_WORDS: Record<resources.CertificateState, string> = {
  NOT_CHECKED: '-',
  VALID: 'valid',
  EXPIRED: 'expired',
  NOT_YET_VALID: 'not yet valid',
  WRONG_NAME: 'for another name',
  SELF_SIGNED: 'self-signed',
  UNTRUSTED: 'not trusted',
  MISSING: 'none for this name',
  NO_ANSWER: 'no answer by https',
}

/** A service of an earlier version sends no redirects. */
async function read({ service, names: path }: AtEnvironment): Promise<DomainList> {
  const list = await service.client.call(`GET ${ENVIRONMENT}/domains`, { path })
  return { ...list, redirects: list.redirects ?? [] }
}

/** The API takes the list as a whole. What others add or remove meanwhile stays added or removed. */
async function change(
  at: AtEnvironment,
  first: DomainList,
  work: (known: DomainList) => Pick<NewDomains, 'domains' | 'redirects'>,
): Promise<string[]> {
  const { service, names: path } = at
  const changed = await changeWithEtag({
    first,
    read: () => read(at),
    async write(known) {
      const wanted = work(known)
      if (!wanted.redirects && wanted.domains.length === known.domains.length) return known
      const body = { ...wanted, etag: known.etag }
      return service.client.call(`POST ${ENVIRONMENT}/domains:replace`, { path, body })
    },
  })
  return changed.domains
}

const named = ({ environment }: AtEnvironment): string => oneLine(environment.displayName)

const isIn = (all: readonly string[], name: string): boolean => all.some((one) => plain(one) === plain(name))

/** As the service stores them: ASCII, lower case, without the final dot. What is no host name stays as it is. */
const plain = (name: string): string => domainToASCII(name.replace(/\.$/, '')) || name
