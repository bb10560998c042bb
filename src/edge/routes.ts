/** The route table: which host name leads to what. It is replaced as a whole, never edited. */
import { readFile, rename, writeFile } from 'node:fs/promises'

/** What a request is sent to. `empty`: the environment exists, and nothing is deployed to it yet. */
export type Target = { kind: 'empty' }

export type RouteTable = { hosts: Record<string, Target> }

export type Routes = ReadonlyMap<string, Target>

export const NO_ROUTES: Routes = new Map()

export const toRoutes = (table: RouteTable): Routes => new Map(Object.entries(table.hosts))

/** The target for a Host header: without its port, in lower case, without the dot of a fully qualified name. */
export function findTarget(routes: Routes, hostHeader: string | undefined): Target | undefined {
  if (!hostHeader) return undefined
  const host = hostHeader.replace(/:\d*$/, '').toLowerCase()
  return routes.get(host.endsWith('.') ? host.slice(0, -1) : host)
}

/** The last good table, from before a restart; undefined when there is none or it cannot be read. */
export async function loadTable(file: string): Promise<RouteTable | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}

export async function saveTable(file: string, table: RouteTable): Promise<void> {
  const draft = `${file}.${process.pid}.new`
  await writeFile(draft, JSON.stringify(table), { mode: 0o600 })
  await rename(draft, file)
}
