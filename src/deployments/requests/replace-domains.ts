/** Replaces the host names of an environment without a deployment. When it resolves, the edge answers for the new names only. */
import {
  type DomainList,
  type Domains,
  domainsEtag,
  type Environments,
  type Preconditions,
  requireEtag,
} from '../../apps/index.ts'
import { type Clock, settlesWithin } from '../../base/index.ts'
import { aboveCeiling, isAbove, Problem, type resources } from '../../contract/index.ts'
import type { Sql } from '../../storage/index.ts'
import type { Routing } from '../routing.ts'
import { type EnvironmentRef, requireOpen } from './require-open.ts'

/** An edge that died is back within this time. */
const TIMEOUT_MS = 15_000

type Parts = {
  sql: Sql
  clock: Clock
  environments: Environments
  domains: Domains
  routing: Pick<Routing, 'touch' | 'publish'>
  /** The limit for all environments of an account together; 0 for no limit. */
  maxDomains?: number
}

export type ReplaceDomains = (
  at: EnvironmentRef,
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
    if (await settlesWithin(clock, routing.publish(), TIMEOUT_MS)) return
    const edge = 'the domains are kept, but the edge does not answer for them yet'
    throw new Problem('NOT_READY', `Not ready: ${edge}.`, { metadata: { edge }, retryAfterSeconds: 5 })
  }

  return async (at, given, preconditions = []) => {
    const names = domains.check(given.domains)
    const asked = given.redirects && domains.checkRedirects(names, given.redirects)
    const list = await sql.transaction(async (tx) => {
      const { id, accountId } = (await requireOpen(environments, tx, at)).environment
      const current = await domains.read(id, tx)
      requireEtag(preconditions, domainsEtag(id, current), 'list of domains')
      const isKept = ({ domain, to }: resources.DomainRedirect) => names.includes(domain) && names.includes(to)
      const redirects = asked ?? current.redirects.filter(isKept)
      await domains.replace(tx, id, names, redirects)
      // After the limit was lowered there may be too many; then a change that does not add any is still allowed. Only what adds
      // some is counted: the count reads all environments of the account.
      const isMore = names.length > current.names.length
      if (isMore && isAbove(await domains.count(accountId, tx), maxDomains)) throw aboveCeiling('DOMAINS', maxDomains)
      await routing.touch(tx, id)
      return { names, redirects }
    })
    await publish()
    return list
  }
}
