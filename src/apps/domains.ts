/**
 * Custom host names of environments. A name has one owner on the whole instance: the first environment that asked for
 * it. It is free again when it is removed from the list, and as soon as the deletion of its environment is requested. A
 * name may redirect to another one of the same list that does not redirect itself, so redirects never form a loop or a
 * chain.
 */
import type { Clock } from '../base/index.ts'
import { type FieldViolation, LIMITS, Problem, type resources } from '../contract/index.ts'
import { list, type Reader, type Sql, statement, type Transaction } from '../storage/index.ts'
import { isWithin, readHostName } from './host-name.ts'
import { notifyBelow } from './notify-below.ts'

type Parts = {
  sql: Sql
  clock: Clock
  /** The domain of the environments' own host names: each is a label under it. */
  domain: string
  /** Further names by which the service itself is reached. */
  ownHosts?: readonly string[]
}

/** The custom host names of one environment, in alphabetical order, and which of them redirect. */
export type DomainList = { names: string[]; redirects: resources.DomainRedirect[] }

/** `redirectTo` is null for a name on which the site itself answers. */
export type Domain = { name: string; redirectTo: string | null }

export function createDomains({ sql, clock, domain, ownHosts = [] }: Parts) {
  /**
   * No name of the service, nor one under it, can be taken: cookies ignore ports and are shared with parent domains, so
   * a site there could read or set those of the portal. And localhost is each visitor's own machine.
   */
  const reserved = [domain, ...ownHosts, 'localhost']

  function read(given: string) {
    const found = readHostName(given)
    if ('wrong' in found || !reserved.some((own) => isWithin(found.name, own))) return found
    return { wrong: 'must not be a name of the service itself, nor one under it' }
  }

  return {
    /** The names in their stored form; the Problem names every one that cannot be taken. */
    check(given: readonly string[]): string[] {
      if (given.length > LIMITS.domains) throw tooMany('domains')
      const names = new Set<string>()
      const faults: FieldViolation[] = []
      for (const [index, text] of given.entries()) {
        const found = read(text)
        const fault =
          'wrong' in found ? found.wrong : names.has(found.name) ? `${found.name} is given twice` : undefined
        if (fault !== undefined) faults.push({ field: `domains[${index}]`, description: fault })
        if ('name' in found) names.add(found.name)
      }
      refuse(faults)
      return [...names].sort()
    },

    /** The redirects in their stored form; the Problem names every one that is not possible among these names. */
    checkRedirects(names: readonly string[], given: readonly resources.DomainRedirect[]): resources.DomainRedirect[] {
      if (given.length > LIMITS.domains) throw tooMany('redirects')
      const nameOf = (text: string) => {
        const found = readHostName(text)
        return 'name' in found && names.includes(found.name) ? found.name : undefined
      }
      const sources = new Set(given.map(({ domain }) => nameOf(domain)))
      const seen = new Set<string>()
      const faults: FieldViolation[] = []
      const redirects = given.flatMap(({ domain, to }, index) => {
        const [from, target] = [nameOf(domain), nameOf(to)]
        const fault = (field: string, description: string) =>
          faults.push({ field: `redirects[${index}].${field}`, description })
        if (from === undefined) fault('domain', NOT_LISTED)
        else if (seen.has(from)) fault('domain', `${from} is given twice`)
        if (target === undefined) fault('to', NOT_LISTED)
        else if (target === from) fault('to', 'must be another name than the one that redirects')
        else if (sources.has(target)) fault('to', `${target} redirects itself: name the domain where the site answers`)
        if (from === undefined || target === undefined) return []
        seen.add(from)
        return [{ domain: from, to: target }]
      })
      refuse(faults)
      return redirects.toSorted((one, other) => (one.domain < other.domain ? -1 : 1))
    },

    /** From now on the environment has these names, and no others. */
    async replace(
      tx: Transaction,
      environmentId: string,
      names: readonly string[],
      redirects: readonly resources.DomainRedirect[] = [],
    ) {
      const targets = new Map(redirects.map(({ domain, to }) => [domain, to]))
      await tx.query(statement`DELETE FROM domains WHERE environment_id = ${environmentId}`)
      if (names.length > 0) {
        await tx.query(statement`DELETE FROM domains WHERE name IN (${list(names)})
          AND environment_id IN (SELECT id FROM environments WHERE state = 'DELETING')`)
        const taken = await tx.query<{ name: string }>(
          statement`SELECT name FROM domains WHERE name IN (${list(names)}) ORDER BY name`,
        )
        if (taken.length > 0) throw domainTaken(taken.map(({ name }) => name))
      }
      for (const name of names) {
        await tx.query(statement`INSERT INTO domains (name, environment_id, redirect_to)
          VALUES (${name}, ${environmentId}, ${targets.get(name) ?? null})`)
      }
      await tx.query(statement`UPDATE environments SET update_time = ${clock.now()} WHERE id = ${environmentId}`)
      await notifyBelow(tx, environmentId, 'domains', '')
    },

    /** How many an account has. */
    async count(accountId: string, reader: Reader = sql): Promise<number> {
      const [row] = await reader.query<{ n: number }>(statement`
        SELECT COUNT(*) AS n FROM environments e JOIN domains d ON d.environment_id = e.id
        WHERE e.account_id = ${accountId}`)
      return row?.n ?? 0
    },

    /** The names of each environment that has any, in alphabetical order. */
    async of(environmentIds: readonly string[], reader: Reader = sql): Promise<Map<string, string[]>> {
      const names = new Map<string, string[]>()
      for (const [id, owned] of grouped(await readOwned(environmentIds, reader))) {
        names.set(
          id,
          owned.map(({ name }) => name),
        )
      }
      return names
    },

    /** The names of one environment, with their redirects. */
    async read(environmentId: string, reader: Reader = sql): Promise<DomainList> {
      const owned = grouped(await readOwned([environmentId], reader)).get(environmentId) ?? []
      return {
        names: owned.map(({ name }) => name),
        redirects: owned.flatMap(({ name, redirectTo }) =>
          redirectTo === null ? [] : { domain: name, to: redirectTo },
        ),
      }
    },

    /** The names of these environments, or of all, with their redirects. */
    async routed(environmentIds?: readonly string[]): Promise<Map<string, Domain[]>> {
      if (environmentIds) return grouped(await readOwned(environmentIds, sql))
      return grouped(
        await sql.query<Owned>(statement`SELECT environment_id, name, redirect_to FROM domains ORDER BY name`),
      )
    },

    /** Whether a site answers there: a custom host name, or an environment's own. */
    async isKnown(host: string): Promise<boolean> {
      const found = readHostName(host)
      if ('wrong' in found) return false
      const { name } = found
      const label = name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : null
      const [row] = await sql.query(statement`SELECT id FROM environments WHERE state <> 'DELETING'
        AND (host_label = ${label} OR id = (SELECT environment_id FROM domains WHERE name = ${name}))`)
      return row !== undefined
    },
  }
}

export type Domains = ReturnType<typeof createDomains>

type Owned = { environment_id: string; name: string; redirect_to: string | null }

async function readOwned(environmentIds: readonly string[], reader: Reader): Promise<Owned[]> {
  if (environmentIds.length === 0) return []
  return reader.query<Owned>(statement`
    SELECT d.environment_id, d.name, d.redirect_to FROM domains d JOIN environments e ON e.id = d.environment_id
    WHERE d.environment_id IN (${list(environmentIds)}) AND e.state <> 'DELETING' ORDER BY d.name`)
}

function grouped(rows: readonly Owned[]): Map<string, Domain[]> {
  const domains = new Map<string, Domain[]>()
  for (const { environment_id, name, redirect_to } of rows) {
    const known = domains.get(environment_id) ?? []
    domains.set(environment_id, known)
    known.push({ name, redirectTo: redirect_to })
  }
  return domains
}

const NOT_LISTED = 'must be one of the domains of the list'

function refuse(faults: readonly FieldViolation[]) {
  if (faults.length > 0) throw new Problem('FIELD_INVALID', sentence(faults), { fields: [...faults] })
}

const sentence = (faults: readonly FieldViolation[]): string =>
  `${faults.map(({ field, description }) => `${field} ${description}`).join('; ')}.`

/** The message does not name the owner, which may be another account. */
const domainTaken = (names: readonly string[]): Problem =>
  new Problem('DOMAIN_TAKEN', `Another environment has: ${names.join(', ')}.`, {
    metadata: { domains: names.join(',') },
  })

function tooMany(field: 'domains' | 'redirects'): Problem {
  const description = `must not have more than ${LIMITS.domains} items`
  return new Problem('BODY_TOO_LARGE', `${field} ${description}.`, {
    metadata: { limit: String(LIMITS.domains) },
    fields: [{ field, description }],
  })
}
