/**
 * What the API and webhooks cost with PostgreSQL on the same machine, beside the same service with SQLite: by a Unix socket, and
 * over the loopback without and with TLS.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startCa } from '../test/support/certificates/ca.ts'
import { HAS_POSTGRES, startPostgres } from '../test/support/postgres/server.ts'
import { type Bench, type Result, Skipped } from './bench.ts'
import { post } from './client.ts'
import { makeOperation } from './operation-read.ts'
import { type Cost, inTurns, type Loaded, TURNS } from './rounds.ts'
import { logIn, type Service, startService, temporaryFolder } from './service.ts'
import { holdBuild, POST, rebuildUrl } from './webhook.ts'

const WAYS = { socket: 'Unix socket', loopback: 'loopback', tls: 'loopback with TLS' } as const
type Way = keyof typeof WAYS
type Name = Way | 'sqlite'
const NAMES: readonly Name[] = ['socket', 'loopback', 'tls', 'sqlite']

type Opened = { service: Service; headers: { authorization: string } }
type All = AsyncDisposable & { folder: string; opened: Record<Name, Opened> }

/** A service for each way and one with SQLite; a server whose commits reach the disk, as those of SQLite do. */
async function openAll(): Promise<All> {
  if (!HAS_POSTGRES) throw new Skipped('needs PostgreSQL: apt-get install postgresql-15')
  const stack = new AsyncDisposableStack()
  const scope = { after: (end: () => unknown) => stack.defer(async () => void (await end())) }
  const folder = stack.use(await temporaryFolder()).path
  const ca = await startCa(scope)
  const tls = await ca.issue(['localhost'], { mustStaple: false })
  const server = await startPostgres(scope, { isDurable: true, isSocket: true, tls })
  const settingsOf: Record<Name, () => Promise<Record<string, string>>> = {
    socket: async () => ({ HEADLAND_DATABASE_URL: await server.createDatabase() }),
    loopback: async () => ({ HEADLAND_DATABASE_URL: overLoopback(await server.createDatabase()) }),
    tls: async () => ({ HEADLAND_DATABASE_URL: `${overLoopback(await server.createDatabase())}?sslmode=require` }),
    sqlite: async () => ({}),
  }
  const opened: Partial<Record<Name, Opened>> = {}
  for (const name of NAMES) {
    const dataDir = join(folder, name)
    const own = await settingsOf[name]()
    const service = stack.use(await startService(dataDir, { HEADLAND_WEBHOOK_CALLS: '1000000000', ...own }))
    opened[name] = { service, headers: await logIn(dataDir, { settings: own }) }
  }
  return { folder, opened: opened as Record<Name, Opened>, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const overLoopback = (url: string): string => url.replace(/\?.*/, '')

async function targets(all: All, target: (opened: Opened) => Promise<Loaded>): Promise<Record<Name, Loaded>> {
  const found: Partial<Record<Name, Loaded>> = {}
  for (const name of NAMES) found[name] = await target(all.opened[name])
  return found as Record<Name, Loaded>
}

/** TLS on one machine is shown for what it costs elsewhere, and has no goal. */
const toResults = (costs: Record<Name, Cost>, what: string, min: number): Result[] =>
  (Object.keys(WAYS) as Way[]).flatMap((way) => [
    {
      what: `${what}s, ${WAYS[way]}`,
      unit: '/s',
      ours: costs[way].requestsPerSecond,
      peer: costs.sqlite.requestsPerSecond,
      ...(way === 'tls' ? {} : { goal: { of: 'ratio', min } as const }),
    },
    {
      what: `CPU of the service per ${what}, ${WAYS[way]}`,
      unit: 'µs',
      ours: costs[way].cpuMicrosecondsPerRequest,
      peer: costs.sqlite.cpuMicrosecondsPerRequest,
    },
  ])

export const postgresRead: Bench = {
  name: 'postgres-read',
  what: 'GET of an operation by Basic authentication with PostgreSQL on this machine, beside SQLite',
  noise: TURNS,
  async run() {
    await using all = await openAll()
    const servers = await targets(all, async ({ service, headers }) => {
      const path = await makeOperation(service.api, headers)
      return { url: service.api + path, pid: service.controlPid, headers }
    })
    return toResults(await inTurns(servers, { connections: 32 }), 'request', 0.6)
  },
}

export const postgresWebhook: Bench = {
  name: 'postgres-webhook',
  what: 'calls of a webhook from 50 connections, each of which joins a build that waits, with PostgreSQL beside SQLite',
  noise: TURNS,
  async run() {
    await using all = await openAll()
    const script = join(all.folder, 'post.lua')
    await writeFile(script, POST)
    await using held = new AsyncDisposableStack()
    const servers = await targets(all, async ({ service, headers }) => {
      const caller = { api: service.api, headers }
      const { environment } = held.use(await holdBuild(caller))
      const { pathname, search } = new URL(await rebuildUrl(caller, environment))
      const waiting = await post({ api: service.api, headers: {} }, pathname + search, {})
      assert.ok(waiting.name)
      return { url: service.api + pathname + search, pid: service.controlPid }
    })
    return toResults(await inTurns(servers, { connections: 50, script, warmUpSeconds: 10 }), 'call', 0.5)
  },
}
