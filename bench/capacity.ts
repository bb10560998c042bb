/**
 * What one environment of each kind costs a machine: files without visitors, a server that is awake, one that sleeps;
 * and what a build and a webhook call leave behind. `docs/operate/capacity.md` uses these numbers.
 */
import assert from 'node:assert/strict'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { zipOf } from '../test/support/zip.ts'
import { type Bench, median, type Result } from './bench.ts'
import { type Caller, createApp, createEnvironment, deploy, post, rebuild, untilAsleep, visit } from './client.ts'
import { commandOf, privateMemoryOf, treeCpuMs, treePids } from './cpu.ts'
import { logIn, type Service, startService, temporaryFolder } from './service.ts'

const SITES = 200
const SERVERS = 20
const STARTS = 5
const BUILDS = 50
const CALLS = 1000
/** Long enough for a round of retention. */
const SETTLE_MS = 8000

const SERVER = {
  'package.json': JSON.stringify({ name: 'server', version: '1.0.0', scripts: { start: 'node server.js' } }),
  'server.js': `require('node:http').createServer((_, r) => r.end('hello')).listen(process.env.PORT, process.env.HOST)`,
}

export const capacity: Bench = {
  name: 'capacity',
  what: `what an environment costs: ${SITES} of files, ${SERVERS} servers awake and asleep; what builds and calls leave behind`,
  noise: 'memory and disk as the kernel counts them, and CPU time; each number is a difference divided by many',
  async run() {
    await using folder = await temporaryFolder()
    const dataDir = join(folder.path, 'data')
    // The first start of all makes the folder.
    await restart(dataDir)
    const none = await restarts(dataDir)
    const made = await makeSites(dataDir)
    const full = await restarts(dataDir)
    return [
      ...each('an environment of files', SITES, none, full),
      ...made,
      ...(await servers(join(folder.path, 'servers'))),
    ]
  },
}

type Cost = { megabytes: number; startMs: number; retentionMs: number; database: number; disk: number }

async function restarts(dataDir: string): Promise<Cost> {
  const costs: Cost[] = []
  for (let round = 0; round < STARTS; round++) costs.push(await restart(dataDir))
  const middle = (number: keyof Cost) => median(costs.map((cost) => cost[number]))
  return {
    // Memory that garbage collection has not freed yet is not needed, so the minimum counts.
    megabytes: Math.min(...costs.map(({ megabytes }) => megabytes)),
    startMs: middle('startMs'),
    retentionMs: middle('retentionMs'),
    database: middle('database'),
    disk: middle('disk'),
  }
}

/** What the service uses after a start and the first round of retention. */
async function restart(dataDir: string): Promise<Cost> {
  await using service = await startService(dataDir)
  const startMs = treeCpuMs(service.pid)
  await wait(SETTLE_MS)
  const retentionMs = treeCpuMs(service.pid) - startMs
  return { megabytes: ownMemory(service), startMs, retentionMs, ...(await onDisk(dataDir)) }
}

const each = (what: string, count: number, before: Cost, after: Cost): Result[] => [
  { what: `memory of ${what}`, unit: 'KB', ours: ((after.megabytes - before.megabytes) * 1024) / count },
  { what: `CPU that ${what} adds to a start`, unit: 'ms', ours: (after.startMs - before.startMs) / count },
  {
    what: `CPU that ${what} adds to a round of retention`,
    unit: 'ms',
    ours: (after.retentionMs - before.retentionMs) / count,
  },
  { what: `rows of ${what} in the database`, unit: 'KB', ours: (after.database - before.database) / count / 1024 },
  { what: `all of ${what} on the disk`, unit: 'KB', ours: (after.disk - before.disk) / count / 1024 },
]

async function makeSites(dataDir: string): Promise<Result[]> {
  await using service = await startService(dataDir, { HEADLAND_WEBHOOK_CALLS: '1000000' })
  const caller = { api: service.api, headers: await logIn(dataDir) }
  await createApp(caller, 'shop')
  const page = (text: string) => zipOf({ 'index.html': `<!doctype html><title>${text}</title>` })
  let environment = ''
  for (let site = 0; site < SITES; site++) {
    environment = (await createEnvironment(caller, 'shop')).name
    await deploy(caller, environment, page(String(site)))
  }
  const before = await onDisk(dataDir)
  for (let round = 0; round < BUILDS; round++) await rebuild(caller, environment, { clean: false })
  const built = await onDisk(dataDir)
  await callWebhook(caller, environment)
  const called = await onDisk(dataDir)
  return [
    { what: 'a build in the database', unit: 'KB', ours: (built.database - before.database) / BUILDS / 1024 },
    { what: 'a build in the logs', unit: 'KB', ours: (built.logs - before.logs) / BUILDS / 1024 },
    { what: 'a call of a webhook in the database', unit: 'B', ours: (called.database - built.database) / CALLS },
  ]
}

async function callWebhook(caller: Caller, environment: string) {
  const set = (await post(caller, `/v1/${environment}/webhooks`, {})) as unknown as {
    webhooks: { action: string; url: string }[]
  }
  const url = set.webhooks.find(({ action }) => action === 'purgeCache')?.url ?? ''
  for (let call = 0; call < CALLS; call++) {
    const answer = await fetch(url, { method: 'POST' })
    assert.equal(answer.status, 200, await answer.text())
  }
}

async function servers(dataDir: string): Promise<Result[]> {
  await using service = await startService(dataDir, { HEADLAND_IDLE_TIMEOUT: '30', HEADLAND_SLEEP_MEMORY: '0' })
  const caller = { api: service.api, headers: await logIn(dataDir) }
  await createApp(caller, 'shop')
  await wait(SETTLE_MS)
  const before = ownMemory(service)
  const sites: { name: string; url: string }[] = []
  for (let site = 0; site < SERVERS; site++) {
    const made = await createEnvironment(caller, 'shop')
    await deploy(caller, made.name, zipOf(SERVER))
    sites.push(made)
  }
  // Some may be asleep by now.
  await Promise.all(sites.map(({ url }) => visit(service.edge, url)))
  const awake = { apps: appMemory(service), own: ownMemory(service) }
  await untilAsleep(
    caller,
    sites.map(({ name }) => name),
  )
  const asleep = { apps: appMemory(service), own: ownMemory(service) }
  return [
    { what: 'a bare Node server awake, beside Node itself', unit: 'MB', ours: awake.apps / SERVERS },
    { what: 'what the service needs to keep it awake', unit: 'MB', ours: (awake.own - before) / SERVERS },
    { what: 'the same, asleep', unit: 'MB', ours: (asleep.apps + asleep.own - before) / SERVERS },
  ]
}

const isOurs = (pid: number): boolean => /bin\/headland|edge\/process/.test(commandOf(pid))

/** Private memory of the service and its edge: the program itself is shared. */
const ownMemory = ({ pid }: Service): number => privateMemoryOf(treePids(pid).filter(isOurs))

/** Memory of apps and their sandboxes, without the pages that all of them share: Node itself. */
const appMemory = ({ pid }: Service): number => privateMemoryOf(treePids(pid).filter((one) => !isOurs(one)))

async function onDisk(dataDir: string): Promise<{ database: number; disk: number; logs: number }> {
  const sizes = { database: databaseBytes(dataDir), disk: 0, logs: 0 }
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    // Deleted between listing and reading.
    const { blocks = 0 } = await stat(path).catch(() => ({ blocks: 0 }))
    const bytes = blocks * 512
    if (path.startsWith(join(dataDir, 'logs'))) sizes.logs += bytes
    if (entry.name !== 'ballast' && !path.startsWith(join(dataDir, 'toolchain'))) sizes.disk += bytes
  }
  return sizes
}

/** By SQLite's own count of pages, since much of it may still be in the write-ahead log. */
function databaseBytes(dataDir: string): number {
  const database = new DatabaseSync(join(dataDir, 'headland.db'), { readOnly: true })
  try {
    const number = (pragma: string) => Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0])
    return (number('page_count') - number('freelist_count')) * number('page_size')
  } finally {
    database.close()
  }
}
