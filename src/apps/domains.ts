/**
 * Custom host names of environments. A name has one owner on the whole instance: whoever asked first. It is free again
 * when it is left out of the list, and as soon as the deletion of its environment is asked for.
 */
import type { Clock } from '../base/index.ts'
import { type FieldViolation, LIMITS, Problem } from '../contract/index.ts'
import { list, type Reader, type Sql, statement, type Transaction, tellBelow } from '../storage/index.ts'
import { isWithin, readHostName } from './host-name.ts'

type Parts = {
  sql: Sql
  clock: Clock
  /** Where the environments' own host names are: each is a label under it. */
  domain: string
  /** Further names by which the service itself is reached. */
  ownHosts?: readonly string[]
}

export function createDomains({ sql, clock, domain, ownHosts = [] }: Parts) {
  /**
   * Nothing at or below a name of the service: cookies know neither ports nor, upwards, subdomains, so a site there could
   * read or set those of the portal. And localhost is each visitor's own machine.
   */
  const reserved = [domain, ...ownHosts, 'localhost']

  function read(given: string) {
    const found = readHostName(given)
    if ('wrong' in found || !reserved.some((own) => isWithin(found.name, own))) return found
    return { wrong: 'must not be a name of the service itself, nor one under it' }
  }

  return {
    /** The names in the form in which they are kept; a Problem names every one that cannot be taken. */
    check(given: readonly string[]): string[] {
      if (given.length > LIMITS.domains) throw tooMany()
      const names = new Set<string>()
      const faults: FieldViolation[] = []
      for (const [index, text] of given.entries()) {
        const found = read(text)
        const fault =
          'wrong' in found ? found.wrong : names.has(found.name) ? `${found.name} is given twice` : undefined
        if (fault !== undefined) faults.push({ field: `domains[${index}]`, description: fault })
        if ('name' in found) names.add(found.name)
      }
      if (faults.length > 0) throw new Problem('FIELD_INVALID', sentence(faults), { fields: faults })
      return [...names].sort()
    },

    /** From now on the environment has these names, and no others. */
    async replace(tx: Transaction, environmentId: string, names: readonly string[]) {
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
        await tx.query(statement`INSERT INTO domains (name, environment_id) VALUES (${name}, ${environmentId})`)
      }
      await tx.query(statement`UPDATE environments SET update_time = ${clock.now()} WHERE id = ${environmentId}`)
      await tellBelow(tx, environmentId, 'domains', '')
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
      if (environmentIds.length === 0) return new Map()
      return grouped(
        await reader.query<Owned>(statement`
          SELECT d.environment_id, d.name FROM domains d JOIN environments e ON e.id = d.environment_id
          WHERE d.environment_id IN (${list(environmentIds)}) AND e.state <> 'DELETING' ORDER BY d.name`),
      )
    },

    /** Those of every environment. */
    async all(): Promise<Map<string, string[]>> {
      return grouped(await sql.query<Owned>(statement`SELECT environment_id, name FROM domains ORDER BY name`))
    },

    /** Whether a site may be found there: a custom host name, or an environment's own. */
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

type Owned = { environment_id: string; name: string }

function grouped(rows: readonly Owned[]): Map<string, string[]> {
  const names = new Map<string, string[]>()
  for (const { environment_id, name } of rows) {
    const known = names.get(environment_id)
    if (known) known.push(name)
    else names.set(environment_id, [name])
  }
  return names
}

const sentence = (faults: readonly FieldViolation[]): string =>
  `${faults.map(({ field, description }) => `${field} ${description}`).join('; ')}.`

/** Whose it is is not said: it may be another account's. */
const domainTaken = (names: readonly string[]): Problem =>
  new Problem('DOMAIN_TAKEN', `Another environment has: ${names.join(', ')}.`, {
    metadata: { domains: names.join(',') },
  })

function tooMany(): Problem {
  const description = `must not have more than ${LIMITS.domains} items`
  return new Problem('BODY_TOO_LARGE', `domains ${description}.`, {
    metadata: { limit: String(LIMITS.domains) },
    fields: [{ field: 'domains', description }],
  })
}
