/** The route table: the target of each host name. It is replaced as a whole, never edited. */
import { readFile, rename, writeFile } from 'node:fs/promises'

/** What answers a request, and its environment: several hosts may belong to one environment. */
export type Target = { environment: string } & TargetKind

type TargetKind =
  /** The environment exists, and nothing is deployed to it yet. */
  | { kind: 'empty' }
  /** An absolute folder with the files, and the absolute path of their manifest. */
  | { kind: 'static'; deployment: string; folder: string; manifest: string }
  | { kind: 'server'; deployment: string; instance: string; host: string; port: number }
  /** No process is running: the edge asks for one, and the request waits. */
  | { kind: 'asleep'; deployment: string }
  /** It keeps crashing. */
  | { kind: 'down'; deployment: string }
  /** Another host name of the same environment. */
  | { kind: 'redirect'; to: string }

export type StaticTarget = Extract<Target, { kind: 'static' }>
export type ServerTarget = Extract<Target, { kind: 'server' }>

export type RouteTable = { hosts: Record<string, Target> }

/**
 * `awaited`: the host was served by a process when the table was saved. Whether it still is, and on the same port, only
 * the control plane knows; requests wait for its first table.
 */
export type Routed = Target | { environment: string; kind: 'awaited' }

export type Routes = ReadonlyMap<string, Routed>

export const NO_ROUTES: Routes = new Map()

export const toRoutes = (table: RouteTable): Routes => new Map(Object.entries(table.hosts))

/** The host name of a Host header: without its port, in lower case, without the dot of a fully qualified name. */
export function toHost(hostHeader: string): string {
  const host = hostHeader.replace(/:\d*$/, '').toLowerCase()
  return host.endsWith('.') ? host.slice(0, -1) : host
}

/** The routes of the last good table, from before a restart; undefined when there is none or it cannot be read. */
export async function loadRoutes(file: string): Promise<Routes | undefined> {
  try {
    const { hosts }: RouteTable = JSON.parse(await readFile(file, 'utf8'))
    return new Map(Object.entries(hosts).map(([host, target]) => [host, withoutProcess(target)]))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}

const withoutProcess = (target: Target): Routed =>
  NEEDS_NO_PROCESS.has(target.kind) ? target : { kind: 'awaited', environment: target.environment }

const NEEDS_NO_PROCESS: ReadonlySet<Target['kind']> = new Set(['static', 'empty', 'redirect'])

export async function saveTable(file: string, table: RouteTable): Promise<void> {
  const draft = `${file}.${process.pid}.new`
  await writeFile(draft, JSON.stringify(table), { mode: 0o600 })
  await rename(draft, file)
}
