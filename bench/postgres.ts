/** What the API and webhooks cost with PostgreSQL on the same machine, beside the same service with SQLite. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HAS_POSTGRES, startPostgres } from '../test/support/postgres/server.ts'
import { type Bench, type Result, Skipped } from './bench.ts'
import { post } from './client.ts'
import { makeOperation } from './operation-read.ts'
import { inTurns, TURNS } from './rounds.ts'
import { logIn, type Service, startService, temporaryFolder } from './service.ts'
import { holdBuild, POST, rebuildUrl } from './webhook.ts'

type Opened = { service: Service; headers: { authorization: string } }
type Both = AsyncDisposable & { folder: string; postgres: Opened; sqlite: Opened }

/** Two services, and a server whose commits reach the disk, as those of SQLite do. */
async function openBoth(): Promise<Both> {
  if (!HAS_POSTGRES) throw new Skipped('needs PostgreSQL: apt-get install postgresql-15')
  const opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder()).path
  const server = await startPostgres(
    { after: (end) => opened.defer(async () => void (await end())) },
    {
      isDurable: true,
      isSocket: true,
    },
  )
  const openService = async (name: string, own: Record<string, string>): Promise<Opened> => {
    const dataDir = join(folder, name)
    const settings = { HEADLAND_WEBHOOK_CALLS: '1000000000', ...own }
    const service = opened.use(await startService(dataDir, settings))
    return { service, headers: await logIn(dataDir, { settings: own }) }
  }
  const postgres = await openService('postgres', { HEADLAND_DATABASE_URL: await server.createDatabase() })
  const sqlite = await openService('sqlite', {})
  return { folder, postgres, sqlite, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

const toResults = (
  { ours, peer }: Awaited<ReturnType<typeof inTurns<'ours' | 'peer'>>>,
  what: string,
  min: number,
): Result[] => [
  {
    what: `${what}s`,
    unit: '/s',
    ours: ours.requestsPerSecond,
    peer: peer.requestsPerSecond,
    goal: { of: 'ratio', min },
  },
  {
    what: `CPU of the service per ${what}`,
    unit: 'µs',
    ours: ours.cpuMicrosecondsPerRequest,
    peer: peer.cpuMicrosecondsPerRequest,
  },
]

export const postgresRead: Bench = {
  name: 'postgres-read',
  what: 'GET of an operation by Basic authentication with PostgreSQL on this machine, beside SQLite',
  noise: TURNS,
  async run() {
    await using both = await openBoth()
    const target = async ({ service, headers }: Opened) => {
      const path = await makeOperation(service.api, headers)
      return { url: service.api + path, pid: service.controlPid, headers }
    }
    const servers = { ours: await target(both.postgres), peer: await target(both.sqlite) }
    return toResults(await inTurns(servers, { connections: 32 }), 'request', 0.6)
  },
}

export const postgresWebhook: Bench = {
  name: 'postgres-webhook',
  what: 'calls of a webhook from 50 connections, each of which joins a build that waits, with PostgreSQL beside SQLite',
  noise: TURNS,
  async run() {
    await using both = await openBoth()
    const script = join(both.folder, 'post.lua')
    await writeFile(script, POST)
    await using held = new AsyncDisposableStack()
    const target = async ({ service, headers }: Opened) => {
      const caller = { api: service.api, headers }
      const { environment } = held.use(await holdBuild(caller))
      const { pathname, search } = new URL(await rebuildUrl(caller, environment))
      const waiting = await post({ api: service.api, headers: {} }, pathname + search, {})
      assert.ok(waiting.name)
      return { url: service.api + pathname + search, pid: service.controlPid }
    }
    const servers = { ours: await target(both.postgres), peer: await target(both.sqlite) }
    return toResults(await inTurns(servers, { connections: 50, script, warmUpSeconds: 10 }), 'call', 0.5)
  },
}
