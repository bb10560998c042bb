/** The certificates of a service, with a real database and a real CA, and a test edge that the CA reaches. */
import { join } from 'node:path'
import { createAccounts } from '../../../src/accounts/index.ts'
import { type Clock, createChanges, createIds, createLog, systemClock } from '../../../src/base/index.ts'
import type { ChallengeType } from '../../../src/certificates/acme/client.ts'
import { type AcmeSettings, createCertificateRecords, openCertificates } from '../../../src/certificates/index.ts'
import type { EdgeTls } from '../../../src/edge/index.ts'
import { createLookup, createNameCheck } from '../../../src/reach/index.ts'
import { createVault, MIGRATIONS, migrate } from '../../../src/storage/index.ts'
import { openSqlite } from '../../../src/storage/sql/sqlite.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { LEADING } from '../leading.ts'
import { startDns } from '../machine/dns.ts'
import { putPreparedDatabase } from '../service/prepared.ts'
import { startTestEdge } from './edge.ts'
import { startPebble } from './pebble.ts'

export const MINUTE_MS = 60_000
export const DAY_MS = 24 * 60 * MINUTE_MS

/** Time-outs are longer, and stay as they are: a machine may be busy. */
const MAX_PAUSE_MS = 10_000

export const cutShort: Clock['sleep'] = (ms, signal) =>
  systemClock.sleep(ms > MAX_PAUSE_MS ? ms : Math.min(ms, 20), signal)

/** The time passes as it does, and can be moved; the pauses are cut short. */
export function movableClock(sleep = cutShort): Clock & { move(ms: number): void } {
  let movedMs = 0
  return {
    now: () => Date.now() + movedMs,
    sleep,
    move(ms) {
      movedMs += ms
    },
  }
}

type Given = {
  switches?: Record<string, string>
  acme?: Partial<AcmeSettings>
  hasAcme?: boolean
  portalHost?: string
  challengeTypes?: ChallengeType[]
  mayCall?: (address: string, port: number) => boolean
  /** Of the one that is opened first. */
  first?: Opening
  sleep?: Clock['sleep']
}

type Opening = Partial<AcmeSettings> & {
  owner?: string
  isLeading?: boolean
  /** Whether the edge that the CA reaches follows this process. */
  hasEdge?: boolean
  /** The names of all control processes, where there are several. */
  controls?: readonly string[]
}

const NO_EDGE: EdgeTls = { setCertificates: async () => undefined, setChallenges: async () => undefined }

export async function startCertificates(t: Scope, given: Given = {}) {
  const edge = await startTestEdge(t)
  const dns = await startDns(t)
  const { httpPort, tlsPort } = edge
  const pebble = await startPebble(t, {
    httpPort,
    tlsPort,
    dns: dns.address,
    switches: { PEBBLE_AUTHZREUSE: '0', ...given.switches },
  })
  const clock = movableClock(given.sleep)
  const folder = await temporaryFolder(t)
  await putPreparedDatabase(folder)
  const file = join(folder, 'headland.db')
  const newId = createIds(clock)
  const masterKey = Buffer.alloc(32, 7)
  const settings: AcmeSettings = {
    directory: pebble.directory,
    email: 'operator@example.com',
    ca: [pebble.ca],
    challengeTypes: given.challengeTypes ?? ['http-01', 'tls-alpn-01'],
    dnsWaitMs: 0,
    userAgent: 'headland-test',
    ...given.acme,
  }
  const sites: { accountId: string; hostLabel: string; domains: string[] }[] = []

  /** As a process that opens the database: several may, one after the other or at once. */
  async function open({ owner, isLeading = true, hasEdge = true, controls, ...changed }: Opening = {}) {
    const sql = await openSqlite(file)
    await migrate(sql, MIGRATIONS, clock.now())
    const opened = openCertificates({
      sql,
      clock,
      log: createLog('silent'),
      newId,
      vault: createVault(masterKey),
      edgeTls: hasEdge ? edge.edge : NO_EDGE,
      cluster: controls && { changes: createChanges(), controls: async () => controls },
      acme: (given.hasAcme ?? true) ? { ...settings, ...changed } : undefined,
      portalHost: given.portalHost,
      domain: 'sites.example.com',
      sites: async (accountId) => sites.filter((site) => accountId === undefined || site.accountId === accountId),
      checkName: createNameCheck({
        lookUp: createLookup({ servers: [dns.address] }),
        publicAddresses: ['127.0.0.1'],
      }),
      calling: { lookUp: createLookup({ servers: [dns.address] }), mayCall: given.mayCall ?? (() => true) },
      random: () => 0.5,
      ...(owner ? { owner } : {}),
    })
    const { worker } = opened
    if (isLeading) worker.lead(LEADING)
    t.after(async () => {
      await opened.stop()
      await sql.close()
    })
    /** A round, and all that it begins. */
    const round = async () => {
      await worker.round()
      await worker.settled()
    }
    return { ...opened, sql, round }
  }

  const first = await open(given.first)
  const accounts = createAccounts({ sql: first.sql, clock, newId })
  /** An environment of an account with custom domains that lead here. */
  const addSite = (accountId: string, domains: string[], hostLabel?: string) => {
    for (const name of domains) dns.zone.set(name, ['127.0.0.1'])
    if (hostLabel) dns.zone.set(`${hostLabel}.sites.example.com`, ['127.0.0.1'])
    sites.push({ accountId, hostLabel: hostLabel ?? `label-${sites.length}`, domains })
  }
  const all = async (sql = first.sql) => {
    const records = createCertificateRecords({ sql, clock, newId, vault: createVault(masterKey), owner: 'test' })
    return records.whole((await records.heads()).map(({ id }) => id))
  }
  const stateOf = async (name: string) => {
    const found = (await all()).find(({ names }) => names.includes(name))
    if (!found) throw new Error(`there is no certificate for ${name}`)
    return found
  }
  return { ...first, open, accounts, addSite, sites, edge, dns, pebble, clock, file, all, stateOf, settings }
}
