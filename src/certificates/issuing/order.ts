/**
 * Gets one certificate, step by step. After each step, what was reached is on disk, so that after the death of the process the next
 * one goes on from there:
 *
 *   on disk                    the next process
 *   nothing                    makes a key
 *   the key                    orders. An order that was made and not recorded is lost; CAs give the same one again, or forget it
 *   the key and the order      asks the CA for the order, and does what it waits for: proofs, the request, or the download
 *   the certificate            is done; the edges are told at every start
 */
import type { Clock, Log } from '../../base/index.ts'
import { authorize, type ChallengeAnswer, pollWhile } from '../acme/authorize.ts'
import type { AcmeClient, ChallengeType, Known, Order } from '../acme/client.ts'
import { AcmeProblem } from '../acme/problem.ts'
import { DnsHookFailed } from '../failure.ts'
import { afterIssue, whileOrdering } from '../schedule.ts'
import type { AcmeAccounts } from '../store/acme-accounts.ts'
import type { CertificateRecord } from '../store/record.ts'
import type { CertificateRecords } from '../store/records.ts'
import { CertificateRefused, readIssued, renewalId } from '../x509/chain.ts'
import { certificateRequest, newKey } from '../x509/request.ts'
import type { Challenges } from './challenges.ts'
import { type DnsHook, runDnsHook } from './dns-hook.ts'

type Parts = {
  clock: Clock
  log: Log
  records: CertificateRecords
  client: AcmeClient
  accounts: AcmeAccounts
  directory: string
  challenges: Challenges
  /** Which of the challenges that edges answer may be used, preferred ones first. */
  challengeTypes: readonly ChallengeType[]
  dnsHook?: DnsHook | undefined
  /** How long a new DNS record takes until the CA can see it. */
  dnsWaitMs: number
  signal: AbortSignal
}

export function createOrders(parts: Parts) {
  const { clock, records, client, accounts, directory, signal } = parts

  /** Throws an AcmeProblem or another error of this module's; the order is kept where it can still succeed. */
  async function get(record: CertificateRecord): Promise<void> {
    const account = await accounts.known()
    await removeOldDnsRecord(record)
    try {
      await finish(record, account)
    } catch (error) {
      // What the CA has refused stays refused; if it was not reached, or is busy, the order goes on later.
      const isOver =
        error instanceof AcmeProblem ? error.status < 500 && !isLimit(error) : error instanceof CertificateRefused
      if (isOver) await records.forgetOrder(record.id)
      throw error
    }
  }

  async function finish(record: CertificateRecord, account: Known): Promise<void> {
    const { order, key } = await orderOf(record, account)
    if (order.status === 'pending') await prove(record, account, order)
    const ready = await poll(account, order, 'pending')
    const finalized =
      ready.status === 'ready' ? await client.finalize(account, ready, certificateRequest(key, record.names)) : ready
    // Some CAs answer with the state of before.
    const done = await pollWhile(
      parts,
      ({ status }: Order) => status === 'processing' || status === 'ready',
      async () => (finalized.status === 'valid' ? finalized : client.order(account, order.url)),
    )
    if (done.status !== 'valid' || done.certificate === undefined) {
      throw new AcmeProblem(done.error ?? { type: 'serverInternal', detail: `the order is ${done.status}` }, 0)
    }
    const read = readIssued(await client.download(account, done.certificate), key, record.names[0] ?? '')
    await records.issued(record.id, read, afterIssue(read, clock.now(), await client.tellsRenewal()))
  }

  /** The order of before, if the CA still has it, or a new one. */
  async function orderOf(record: CertificateRecord, account: Known): Promise<{ order: Order; key: string }> {
    const { id, names, orderUrl, sealedOrderKey, chain } = record
    if (orderUrl !== null && sealedOrderKey !== null) {
      const order = await client.order(account, orderUrl).catch(unlessGone)
      if (order && order.status !== 'invalid') return { order, key: records.orderKeyOf(record) }
      await records.forgetOrder(id)
    }
    // A key whose order was not recorded is used for the next one.
    const kept = orderUrl === null && sealedOrderKey !== null
    const key = kept ? records.orderKeyOf(record) : await newKey()
    const sealedKey = kept ? sealedOrderKey : records.seal(id, key)
    await records.beginOrder(id, { sealedKey, directory, state: whileOrdering(record, clock.now()) })
    const replaces = chain !== null && (await client.tellsRenewal()) ? renewalId(chain) : undefined
    const name = names[0] ?? ''
    const order = await client.newOrder(account, name, replaces).catch((error) => {
      // The CA knows another successor of that certificate already, or it was not this account's.
      if (replaces && error instanceof AcmeProblem && error.status < 500 && !isLimit(error)) {
        return client.newOrder(account, name)
      }
      throw error
    })
    await records.ordered(id, order.url)
    return { order, key }
  }

  async function prove(record: CertificateRecord, account: Known, order: Order) {
    const { id, names } = record
    const isWildcard = names[0]?.startsWith('*.') ?? false
    const types = isWildcard ? (['dns-01'] as const) : await typesFor(record)
    const publish = (answer: ChallengeAnswer) =>
      answer.type === 'dns-01' ? addDnsRecord(id, answer) : parts.challenges.add(answer)
    const accepted = await authorize({ clock, client, account, types, publish, signal }, order)
    if (accepted && !isWildcard) await records.convinced(id, accepted)
  }

  /** What worked before comes first; after a failure the next one is tried. */
  async function typesFor({ challenge, attempts, failure }: CertificateRecord): Promise<ChallengeType[]> {
    const { challengeTypes } = parts
    const known = challenge ?? (await records.lastChallenge())
    const first = known !== undefined && challengeTypes.includes(known) ? challengeTypes.indexOf(known) : 0
    const at = first + (failure?.kind === 'NAME' ? attempts : 0)
    return challengeTypes.map((_, index) => challengeTypes[(at + index) % challengeTypes.length] as ChallengeType)
  }

  async function addDnsRecord(id: string, { name, dnsValue }: ChallengeAnswer): Promise<() => Promise<void>> {
    const { dnsHook } = parts
    if (!dnsHook) throw new AcmeProblem({ type: 'unsupportedChallenge', detail: 'there is no command for DNS-01' }, 0)
    // Recorded first, so that it is removed after a death of this process, too.
    await records.dnsRecord(id, dnsValue)
    await runDnsHook({ ...dnsHook, signal }, { action: 'add', name: `_acme-challenge.${name}`, value: dnsValue })
    await clock.sleep(parts.dnsWaitMs, signal)
    return () => removeDnsRecord(id, name, dnsValue)
  }

  async function removeDnsRecord(id: string, name: string, value: string) {
    const change = { action: 'remove', name: `_acme-challenge.${name}`, value } as const
    try {
      if (parts.dnsHook) await runDnsHook({ ...parts.dnsHook, signal }, change)
    } catch (error) {
      if (!(error instanceof DnsHookFailed)) throw error
      // A record that stays does no harm, and the next order tries again to remove it.
      return parts.log.warn({ err: error }, 'a DNS record of a certificate could not be removed')
    }
    await records.dnsRecord(id, null)
  }

  async function removeOldDnsRecord({ id, names, dnsRecord }: CertificateRecord) {
    if (dnsRecord !== null) await removeDnsRecord(id, (names[0] ?? '').replace('*.', ''), dnsRecord)
  }

  const poll = (account: Known, order: Order, whileState: Order['status']): Promise<Order> =>
    pollWhile(
      parts,
      ({ status }: Order) => status === whileState,
      () => client.order(account, order.url),
    )

  return { get }
}

export type Orders = ReturnType<typeof createOrders>

/** For an order that the CA has forgotten. */
function unlessGone(error: unknown): undefined {
  if (error instanceof AcmeProblem && error.status >= 400 && error.status < 500 && !isLimit(error)) return undefined
  throw error
}

const isLimit = ({ type, status }: AcmeProblem): boolean =>
  status === 429 || type === 'rateLimited' || type === 'accountDoesNotExist' || type === 'badNonce'
