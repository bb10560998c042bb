/** Every table of the database belongs to one module, and only that module has statements on it. */
import { ofService, type Source } from './source.ts'

/** The module of each table: `builds` → `builds/`. */
export type Owners = ReadonlyMap<string, string>

const MIGRATIONS = 'src/storage/sql/migrations/'
/** It checks the database of another service as a whole, table by table, before it trusts it. */
const READS_EVERY_TABLE = 'src/backups/'

/** Reads the table `| module | tables |`. */
export function readOwners(markdown: string): Owners {
  const lines = markdown.split('\n')
  const heading = lines.findIndex((line) => /^\| *module *\| *tables *\|/.test(line))
  if (heading < 0) throw new Error('there is no table of tables')
  const owners = new Map<string, string>()
  for (const line of lines.slice(heading + 2)) {
    const [, module, tables] = /^\| *`([^`]+)` *\|([^|]*)\|/.exec(line) ?? []
    if (module === undefined || tables === undefined) break
    for (const [, table = ''] of tables.matchAll(/`([^`]+)`/g)) {
      if (owners.has(table)) throw new Error(`${table} stands in the table twice`)
      owners.set(table, module)
    }
  }
  return owners
}

/** The tables that the migrations leave. */
export function tablesIn(migrations: readonly Source[]): string[] {
  const tables = new Set<string>()
  for (const { text } of migrations.toSorted((one, other) => one.path.localeCompare(other.path))) {
    for (const [, made, dropped, from, to] of text.matchAll(
      /\bCREATE TABLE (\w+)|\bDROP TABLE (\w+)|\bALTER TABLE (\w+) RENAME TO (\w+)/g,
    )) {
      if (made !== undefined) tables.add(made)
      if (dropped !== undefined) tables.delete(dropped)
      if (from !== undefined && to !== undefined) {
        tables.delete(from)
        tables.add(to)
      }
    }
  }
  return [...tables]
}

export const isMigration = (path: string): boolean => path.startsWith(MIGRATIONS)

/** Statements on tables of other modules. */
export function foreignTables(sources: readonly Source[], owners: Owners): string[] {
  return ofService(sources)
    .filter(({ path }) => !isMigration(path) && !path.startsWith(READS_EVERY_TABLE))
    .flatMap(({ path, text }) => {
      const used = [...text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)/g)].map(([, table = '']) => table)
      return [...new Set(used)]
        .filter((table) => owners.has(table) && !path.startsWith(`src/${owners.get(table)}`))
        .map((table) => `${path} has a statement on ${table}, which belongs to ${owners.get(table)}`)
    })
}
