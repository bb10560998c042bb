/** Other host names for an environment, without a deployment: when it resolves, the edge answers for them, and only them. */
import type { Account } from '../../accounts/index.ts'
import {
  type DomainList,
  type Domains,
  domainsEtag,
  type Environments,
  type Preconditions,
  requireEtag,
} from '../../apps/index.ts'
import type { Clock } from '../../base/index.ts'
import { aboveCeiling, isAbove, Problem, type resources } from '../../contract/index.ts'
import type { Sql } from '../../storage/index.ts'
import type { Routing } from '../routing.ts'

/** As long as an edge that died may take to be back. */
const TIMEOUT_MS = 15_000

type Parts = {
  sql: Sql
  clock: Clock
  environments: Environments
  domains: Domains
  routing: Pick<Routing, 'touch' | 'publish'>
  /** How many an account may have in all its environments; 0 for no limit. */
  maxDomains?: number
}

export type ReplaceDomains = (
  account: Account,
  appName: string,
  id: string,
  given: Pick<resources.NewDomains, 'domains' | 'redirects'>,
  preconditions?: Preconditions,
) => Promise<DomainList>

export function createReplaceDomains({
  sql,
  clock,
  environments,
  domains,
  routing,
  maxDomains = 0,
}: Parts): ReplaceDomains {
  async function publish() {
    const patience = new AbortController()
    const published = routing.publish().then(() => true)
    const late = clock.sleep(TIMEOUT_MS, patience.signal).then(() => false)
    const isServed = await Promise.race([published, late]).finally(() => patience.abort())
    if (isServed) return
    const edge = 'the domains are kept, but the edge does not answer for them yet'
    throw new Problem('NOT_READY', `Not ready: ${edge}.`, { metadata: { edge }, retryAfterSeconds: 5 })
  }

  return async (account, appName, id, given, preconditions = []) => {
    const names = domains.check(given.domains)
    const asked = given.redirects && domains.checkRedirects(names, given.redirects)
    const list = await sql.transaction(async (tx) => {
      const environment = await environments.require(account.id, appName, id, tx)
      if (environment.state === 'DELETING') throw new Problem('ENVIRONMENT_DELETING')
      const current = await domains.read(id, tx)
      requireEtag(preconditions, domainsEtag(id, current), 'list of domains')
      const before = await domains.count(account.id, tx)
      const isKept = ({ domain, to }: resources.DomainRedirect) => names.includes(domain) && names.includes(to)
      const redirects = asked ?? current.redirects.filter(isKept)
      await domains.replace(tx, environment.id, names, redirects)
      const after = await domains.count(account.id, tx)
      // Where there were too many before the limit was lowered, fewer are always welcome.
      if (after > before && isAbove(after, maxDomains)) throw aboveCeiling('DOMAINS', maxDomains)
      await routing.touch(tx)
      return { names, redirects }
    })
    await publish()
    return list
  }
}
