/** Puts the parts of this module together. */
import { type Changes, type Clock, type Log, type NewId, processName, settlesWithin } from '../base/index.ts'
import type { EdgeTls } from '../edge/index.ts'
import type { NameCheck } from '../reach/index.ts'
import { createCurrentTerm, type Sql, type Vault } from '../storage/index.ts'
import { type ChallengeType, createAcmeClient } from './acme/client.ts'
import type { ExternalAccount } from './acme/jws.ts'
import { createTransport } from './acme/transport.ts'
import { createCertificates } from './certificates.ts'
import { createChallenges } from './issuing/challenges.ts'
import type { DnsHook } from './issuing/dns-hook.ts'
import { createOrders } from './issuing/order.ts'
import { createSharedChallenges } from './issuing/shared-challenges.ts'
import { type Acme, createCertificateWorker } from './issuing/worker.ts'
import type { Site } from './names.ts'
import type { Calling } from './stapling/ask-responder.ts'
import { createStaples } from './stapling/staples.ts'
import { createAcmeAccounts } from './store/acme-accounts.ts'
import { createCertificateRecords } from './store/records.ts'
import { createSharedChallengeRecords } from './store/shared-challenges.ts'

export type AcmeSettings = {
  directory: string
  email: string
  /** PEM that the CA's own server is checked against, beside what Node knows. */
  ca?: readonly string[] | undefined
  external?: ExternalAccount | undefined
  /** Of those that edges answer, preferred ones first. */
  challengeTypes: readonly ChallengeType[]
  dnsHook?: DnsHook | undefined
  dnsWaitMs: number
  userAgent: string
}

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  newId: NewId
  vault: Vault
  edgeTls: EdgeTls
  /** Where there may be several control processes, so that challenges reach the edges of all of them. */
  cluster?: { changes: Pick<Changes, 'follow'>; controls(): Promise<readonly string[]> } | undefined
  /** Undefined: certificates are uploaded, and none is got. */
  acme: AcmeSettings | undefined
  portalHost: string | undefined
  domain: string
  /** Of one account or of all. */
  sites(accountId?: string): Promise<Site[]>
  checkName: NameCheck
  /** How responders of certificates are found, and where those of uploaded ones may be. */
  calling: Calling
  /** Tells two processes on one database apart. */
  owner?: string
  random?: () => number
}

/** Followers of no account, but of certificates. */
const HINTS = 'certificates'

export function openCertificates(parts: Parts) {
  const { sql, clock, log, newId, vault, edgeTls, portalHost, domain, sites, checkName, owner = processName() } = parts
  const stopping = new AbortController()
  const currentTerm = createCurrentTerm()
  const records = createCertificateRecords({
    sql,
    clock,
    newId,
    vault,
    owner,
    checkTerm: currentTerm.check,
  })
  const shared = parts.acme && parts.cluster && openShared(parts.cluster)
  const opened = parts.acme && openAcme(parts.acme)
  const worker = createCertificateWorker({
    clock,
    log,
    records,
    edgeTls,
    staples: createStaples({ clock, log, calling: parts.calling, signal: stopping.signal }),
    acme: opened?.acme,
    portalHost,
    domain,
    sites,
    checkName,
    currentTerm,
    stopping,
    ...(parts.random ? { random: parts.random } : {}),
  })
  const certificates = createCertificates({ clock, records, worker: { poke }, portalHost, domain, sites })
  const unfollow = parts.cluster?.changes.follow(HINTS, () => worker.poke())

  /** What is wanted has changed. Another process may lead, and others tell their edges. */
  function poke() {
    worker.poke()
    if (!parts.cluster) return
    // A hint, which may be lost: each process looks by itself as well.
    sql
      .transaction(async (tx) => tx.notify(HINTS, ''))
      .catch((error) => log.debug({ err: error }, 'other control processes could not be told of certificates'))
  }

  function openShared({ changes, controls }: NonNullable<Parts['cluster']>) {
    const stored = createSharedChallengeRecords({ sql, vault, checkTerm: currentTerm.check })
    return createSharedChallenges({ clock, log, changes, records: stored, edgeTls, control: owner, controls })
  }

  function openAcme(settings: AcmeSettings): { acme: Acme; close(): void } {
    const { directory, email, ca, external, challengeTypes, dnsHook, dnsWaitMs, userAgent } = settings
    const transport = createTransport({ ca, userAgent, signal: stopping.signal })
    const client = createAcmeClient({ clock, transport, directoryUrl: directory })
    const accounts = createAcmeAccounts({ sql, clock, vault, client, directory, email, external })
    const challenges = createChallenges({ clock, edgeTls: shared ?? edgeTls })
    const ordering = {
      clock,
      log,
      records,
      client,
      accounts,
      directory,
      challenges,
      challengeTypes,
      dnsHook,
      dnsWaitMs,
    }
    const ordersUntil = (signal: AbortSignal) => createOrders({ ...ordering, signal })
    return {
      acme: { client, accounts, challenges, ordersUntil, directory, hasDnsHook: dnsHook !== undefined },
      close: transport.close,
    }
  }

  return {
    certificates,
    worker,
    records,
    /** What does not end in time is continued by the next process. */
    async stop(graceMs = 3000) {
      unfollow?.()
      await settlesWithin(clock, worker.stop(), graceMs)
      await shared?.stop()
      opened?.close()
    },
  }
}

export type OpenCertificates = ReturnType<typeof openCertificates>
