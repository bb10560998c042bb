/**
 * Gets certificates for the names that want one, renews them, and tells the edges. A round looks at what is wanted and due; orders run
 * beside the rounds, a few at a time, and never two for one name. Every process tells its own edges; the leader gets certificates.
 */
import {
  type Clock,
  createBuckets,
  createTurns,
  type Log,
  type Rate,
  repeat,
  settlesWithin,
  toRfc3339,
} from '../../base/index.ts'
import type { resources } from '../../contract/index.ts'
import type { EdgeTls } from '../../edge/index.ts'
import { type CurrentTerm, LeadershipLost, type Term } from '../../storage/index.ts'
import type { AcmeClient } from '../acme/client.ts'
import { AcmeProblem } from '../acme/problem.ts'
import { dnsFailure, failureOf } from '../failure.ts'
import { answeredHosts, assign, type Site, type WantedName, wantedNames } from '../names.ts'
import { afterFailure, nextStep } from '../schedule.ts'
import type { Staples } from '../stapling/staples.ts'
import type { AcmeAccounts } from '../store/acme-accounts.ts'
import type { CertificateHead, CertificateRecord } from '../store/record.ts'
import { type CertificateRecords, LEASE_MS, LeaseLost } from '../store/records.ts'
import { createAskRenewal } from './ask-renewal.ts'
import type { Challenges } from './challenges.ts'
import type { Orders } from './order.ts'
import { createTellEdges } from './tell-edges.ts'

/** What gets certificates; undefined where the operator has not turned it on. */
export type Acme = {
  client: AcmeClient
  accounts: AcmeAccounts
  challenges: Challenges
  /** What is under way ends with the signal. */
  ordersUntil(signal: AbortSignal): Orders
  directory: string
  hasDnsHook: boolean
}

type Parts = {
  clock: Clock
  log: Log
  records: CertificateRecords
  edgeTls: EdgeTls
  staples: Staples
  acme: Acme | undefined
  portalHost: string | undefined
  domain: string
  sites(): Promise<Site[]>
  /** Whether a name leads here. */
  checkName(name: string, ownHost: string): Promise<resources.DnsCheck>
  /** Whether this process leads. */
  currentTerm: CurrentTerm
  /** Ends what is under way. */
  stopping: AbortController
  random?: () => number
}

const ROUND_MS = 10_000
/** After a fault of the service itself. */
const FAULT_MS = 60_000
/** Names that are worked on at a time, of all accounts and of one. */
const MAX_RUNNING = 6
const MAX_OF_ACCOUNT = 2
/** Orders of one account: CAs limit those of the whole service, to a few hundred in three hours. */
const ORDER_RATE: Rate = { atOnce: 50, perSecond: 50 / (3 * 3600) }
/** An upload that expires so soon is no reason not to get one by ACME. */
const UPLOAD_MARGIN_MS = 24 * 3600 * 1000
/** Before the end of an uploaded certificate, its account and the operator are warned. */
export const WARNING_MS = 21 * 24 * 3600 * 1000
const WARN_AGAIN_MS = 24 * 3600 * 1000
/** What is left of an order after that records nothing, as its term is over. */
const STOP_MS = 2000

export function createCertificateWorker(parts: Parts) {
  const { clock, log, records, edgeTls, staples, acme, stopping, currentTerm, random = Math.random } = parts
  const { signal } = stopping
  const running = new Map<string, { account: string; done: Promise<void> }>()
  const buckets = createBuckets(clock)
  const warn = createWarnings({ clock, log })
  const tellEdges = createTellEdges({ clock, log, records, edgeTls, staples, domain: parts.domain })
  const askRenewal = createAskRenewal({ clock, log, records })
  let owners = new Map<string, WantedName>()
  /** The term in which what another leader has left at the edges was taken back. */
  let resetIn: Term | undefined

  const inTurn = createTurns()

  /** What is wanted, what the edges use, what is due. */
  const round = (): Promise<void> => inTurn('round', look)

  async function look(): Promise<void> {
    const given = { portalHost: parts.portalHost, domain: parts.domain, sites: await parts.sites() }
    const hosts = answeredHosts(given)
    if (currentTerm.get()) await reconcile(given).catch(unlessLost)
    await tellEdges(hosts)
    staples.refresh()
    const term = currentTerm.get()
    if (!acme || !term) return
    if (term !== resetIn) await acme.challenges.reset().catch(unlessLost)
    resetIn = term
    await begin(acme, term.signal)
  }

  /** Records which names are wanted. */
  async function reconcile(given: Parameters<typeof answeredHosts>[0]) {
    const uploads = (await records.heads()).filter(({ source }) => source === 'UPLOADED')
    for (const upload of uploads) warn(upload)
    const wanted = acme
      ? withoutUploads(wantedNames({ ...given, hasWildcard: acme.hasDnsHook }), uploads, clock.now())
      : []
    await records.reconcile(wanted, acme?.directory ?? '')
    owners = new Map(wanted.map((each) => [each.name, each]))
  }

  async function begin(on: Acme, over: AbortSignal) {
    const ending = AbortSignal.any([signal, over])
    for (const { id, accountId } of await records.due()) {
      const account = accountId ?? ''
      const ofAccount = [...running.values()].filter((each) => each.account === account).length
      if (ending.aborted || running.size >= MAX_RUNNING) return
      if (running.has(id) || ofAccount >= MAX_OF_ACCOUNT) continue
      const done = work(on, id, ending).then(() => {
        running.delete(id)
        // Edges are told, and the next name begins.
        return signal.aborted ? undefined : round().catch(onRoundError)
      })
      running.set(id, { account, done })
    }
  }

  const onRoundError = (error: unknown) => log.error({ err: error }, 'cannot look for certificates that are due')

  /** A fault of the service ends this attempt alone. */
  async function work(on: Acme, id: string, ending: AbortSignal): Promise<void> {
    const lease = repeat(clock, LEASE_MS / 3, () =>
      records
        .renewLease(id)
        .catch((error) => log.error({ err: error }, 'a lease on a certificate could not be renewed')),
    )
    try {
      const record = await records.claim(id)
      if (!record) return
      const step = nextStep(record, clock.now())
      if (step === 'RENEWAL_INFO') await askRenewal(on.client, record)
      if (step === 'ORDER') await attempt(on, record, ending)
    } catch (error) {
      // The leader goes on from the last step that is recorded.
      if (!(error instanceof LeaseLost || error instanceof LeadershipLost)) await putOff(id, error)
    } finally {
      await lease.stop()
      await records
        .release(id)
        .catch((error) => log.error({ err: error }, 'a lease on a certificate could not be given back'))
    }
  }

  async function putOff(id: string, error: unknown) {
    log.error({ err: error, certificate: id }, 'a certificate could not be worked on')
    await records
      .schedule(id, { nextTime: clock.now() + FAULT_MS })
      .catch((fault) => log.error({ err: fault }, 'a certificate could not be put off'))
  }

  async function attempt(on: Acme, record: CertificateRecord, ending: AbortSignal) {
    const { id, names, accountId } = record
    const name = names[0] ?? ''
    const { ownHost = name } = owners.get(name) ?? {}
    const isWildcard = name.startsWith('*.')
    const dns = isWildcard ? undefined : await parts.checkName(name, ownHost)
    if (dns && dns.state !== 'HERE' && dns.state !== 'UNKNOWN') return fail(record, dnsFailure(name, dns))
    // An order that was begun goes on, whatever the rate.
    const waitMs = record.orderUrl === null ? buckets.take(accountId ?? '', 1, ORDER_RATE) : 0
    if (waitMs > 0) return records.schedule(id, { nextTime: Math.ceil(clock.now() + waitMs) })
    try {
      await on.ordersUntil(ending).get(record)
    } catch (error) {
      if (ending.aborted) return
      if (error instanceof AcmeProblem && error.type === 'accountDoesNotExist') await on.accounts.forget()
      const failure = failureOf(error, name)
      if (!failure) throw error
      return fail(record, failure)
    }
    log.info({ name }, 'a certificate was issued')
  }

  async function fail(record: CertificateRecord, failure: Parameters<typeof afterFailure>[1]) {
    const change = afterFailure(record, failure, { now: clock.now(), random: random() })
    await records.schedule(record.id, change)
    const { type, detail } = failure
    const line = { name: record.names[0], type, detail, nextTime: toRfc3339(change.nextTime ?? 0) }
    // A name that does not lead here yet is no fault.
    if (failure.kind === 'DNS') log.info(line, 'a name does not lead here, so it gets no certificate yet')
    else log.warn(line, 'a certificate could not be got')
  }

  let wake: () => void = () => undefined
  let rounds: Promise<void> = Promise.resolve()

  async function repeatRounds() {
    while (!signal.aborted) {
      const woken = new AbortController()
      wake = () => woken.abort()
      await round().catch(onRoundError)
      await clock.sleep(ROUND_MS, AbortSignal.any([signal, woken.signal]))
    }
  }

  /** Resolves when nothing is being worked on. */
  async function settled() {
    while (running.size > 0) await Promise.all([...running.values()].map(({ done }) => done))
    await staples.settled()
  }

  return {
    round,
    settled,

    /** What is wanted has changed: the next round begins at once. */
    poke: () => wake(),

    start() {
      rounds = repeatRounds()
    },

    /** This process leads from now on, until the stop. */
    lead(term: Term): { stop(): Promise<unknown> } {
      currentTerm.begin(term)
      wake()
      return {
        stop() {
          currentTerm.end()
          return settlesWithin(clock, Promise.all([...running.values()].map(({ done }) => done)), STOP_MS)
        },
      }
    },

    async stop() {
      stopping.abort()
      await rounds
      await settled()
    },
  }
}

export type CertificateWorker = ReturnType<typeof createCertificateWorker>

/** Names that are covered by an uploaded certificate are not got. */
function withoutUploads(names: readonly WantedName[], uploads: readonly CertificateHead[], now: number): WantedName[] {
  const covered = assign(names, uploads, now + UPLOAD_MARGIN_MS)
  return names.filter(({ name }) => !covered.has(name))
}

function unlessLost(error: unknown) {
  if (!(error instanceof LeadershipLost)) throw error
}

/** An uploaded certificate that expires is reported in the log, once a day; the API shows it as well. */
function createWarnings({ clock, log }: Pick<Parts, 'clock' | 'log'>) {
  const warned = new Map<string, number>()
  return ({ id, names, notAfter }: CertificateHead) => {
    const now = clock.now()
    if (notAfter === null || notAfter - now > WARNING_MS || now - (warned.get(id) ?? 0) < WARN_AGAIN_MS) return
    warned.set(id, now)
    log.warn({ names, notAfter: toRfc3339(notAfter) }, 'an uploaded certificate expires; upload the next one')
  }
}
