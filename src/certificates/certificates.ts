/** What an account can see and do about its certificates. */
import { type Clock, createBuckets, type Rate, toRfc3339 } from '../base/index.ts'
import { Problem, names as resourceNames, type resources } from '../contract/index.ts'
import type { Page, PageOf } from '../storage/index.ts'
import { type CertificateWorker, WARNING_MS } from './issuing/worker.ts'
import { answeredHosts, assign, type Site } from './names.ts'
import type { CertificateHead, CertificateRecord } from './store/record.ts'
import type { CertificateRecords } from './store/records.ts'
import { CertificateRefused, covers, readCertificate } from './x509/chain.ts'

type Parts = {
  clock: Clock
  records: CertificateRecords
  worker: Pick<CertificateWorker, 'poke'>
  portalHost: string | undefined
  domain: string
  sites(accountId?: string): Promise<Site[]>
}

type Account = { id: string; name: string }

/** How often one certificate is tried at the request of users, beside the attempts of the service. */
const RETRY_RATE: Rate = { atOnce: 3, perSecond: 3 / 3600 }
/** Reading a chain and a key takes milliseconds of the processor. */
const UPLOAD_RATE: Rate = { atOnce: 30, perSecond: 30 / 3600 }

const DAY_MS = 24 * 3600 * 1000

export function createCertificates({ clock, records, worker, portalHost, domain, sites }: Parts) {
  const buckets = createBuckets(clock)

  function limit(key: string, rate: Rate, message?: string) {
    const waitMs = buckets.take(key, 1, rate)
    if (waitMs > 0) throw new Problem('TOO_MANY_RETRIES', message, { retryAfterSeconds: Math.ceil(waitMs / 1000) })
  }

  const hostsOf = async (accountId: string) => answeredHosts({ portalHost, domain, sites: await sites(accountId) })

  /** Which hosts of the account are answered with which certificate. */
  async function usesOf(accountId: string): Promise<Map<string, string[]>> {
    const heads = (await records.heads(accountId)).filter(({ hasChain }) => hasChain)
    const uses = new Map<string, string[]>()
    for (const [name, { id }] of assign<CertificateHead>(await hostsOf(accountId), heads, clock.now())) {
      uses.set(id, [...(uses.get(id) ?? []), name])
    }
    return uses
  }

  const render = (account: Account, record: CertificateRecord, uses: ReadonlyMap<string, string[]>) =>
    renderCertificate(record, {
      name: resourceNames.certificateResource(account.name, record.id),
      usedFor: uses.get(record.id) ?? [],
      now: clock.now(),
    })

  return {
    async list(account: Account, page: Page): Promise<PageOf<resources.Certificate>> {
      const { items, nextPageToken } = await records.list(account.id, page)
      const uses = await usesOf(account.id)
      return { items: items.map((record) => render(account, record, uses)), nextPageToken }
    },

    async get(account: Account, id: string): Promise<resources.Certificate> {
      return render(account, await records.require(account.id, id), await usesOf(account.id))
    },

    /** A certificate is used for hosts of its account alone, so it must cover one of them. */
    async upload(account: Account, { chain, privateKey }: resources.NewCertificate): Promise<resources.Certificate> {
      limit(`upload ${account.id}`, UPLOAD_RATE, 'The account has uploaded too many certificates of late.')
      const read = readUpload(chain, privateKey, clock.now())
      const hosts = (await hostsOf(account.id)).filter(({ accountId }) => accountId === account.id)
      if (!hosts.some((host) => read.names.some((name) => covers(name, host.name)))) throw forOthers(read.names)
      const { id } = await records.upload(account.id, read)
      worker.poke()
      return this.get(account, id)
    },

    async remove({ id: accountId }: Account, id: string) {
      await records.remove(accountId, id)
      worker.poke()
    },

    /** The next attempt begins at once. What the CA has asked to wait for is waited for. */
    async retry(account: Account, id: string): Promise<resources.Certificate> {
      const { source, state, failure } = await records.require(account.id, id)
      if (source !== 'ACME' || state === 'ISSUED') throw new Problem('CERTIFICATE_NOT_WAITING')
      const waitMs = (failure?.retryTime ?? 0) - clock.now()
      if (waitMs > 0) {
        throw new Problem('TOO_MANY_RETRIES', `The CA has asked to wait: ${failure?.detail}`, {
          retryAfterSeconds: Math.ceil(waitMs / 1000),
        })
      }
      limit(`retry ${id}`, RETRY_RATE)
      await records.retry(account.id, id)
      worker.poke()
      return this.get(account, id)
    },
  }
}

export type Certificates = ReturnType<typeof createCertificates>

/** The Problem tells what is wrong with which field. */
export function readUpload(chain: string, privateKey: string, now: number) {
  try {
    return readCertificate(chain, privateKey, now)
  } catch (error) {
    if (!(error instanceof CertificateRefused)) throw error
    const { field, message: description } = error
    throw new Problem('CERTIFICATE_INVALID', `${field} ${description}.`, { fields: [{ field, description }] })
  }
}

const NAMES_SHOWN = 5

function forOthers(names: readonly string[]): Problem {
  const shown = `${names.slice(0, NAMES_SHOWN).join(', ')}${names.length > NAMES_SHOWN ? ', …' : ''}`
  const description = `is for ${shown}, and no environment of the account has such a domain: add the domain first`
  return new Problem('CERTIFICATE_INVALID', `chain ${description}.`, { fields: [{ field: 'chain', description }] })
}

type Shown = { name: string; usedFor: string[]; now: number }

export function renderCertificate(record: CertificateRecord, { name, usedFor, now }: Shown): resources.Certificate {
  const { source, notBefore, notAfter, issuer, failure } = record
  const isUpload = source === 'UPLOADED'
  const nextTime = record.state === 'ISSUED' ? record.renewTime : record.nextTime
  const warning = warningOf(record, now)
  return {
    name,
    names: record.names,
    usedFor,
    source,
    state: isUpload && (notAfter ?? 0) <= now ? 'EXPIRED' : record.state,
    ...(notBefore === null ? {} : { notBefore: toRfc3339(notBefore) }),
    ...(notAfter === null ? {} : { notAfter: toRfc3339(notAfter) }),
    ...(issuer === null ? {} : { issuer }),
    ...(isUpload || nextTime === null ? {} : { nextAttemptTime: toRfc3339(nextTime) }),
    ...(failure === null
      ? {}
      : {
          failure: {
            type: failure.type,
            detail: failure.detail,
            action: failure.action,
            time: toRfc3339(failure.time),
          },
        }),
    ...(warning === undefined ? {} : { warning }),
    createTime: toRfc3339(record.createTime),
  }
}

function warningOf({ source, state, notAfter }: CertificateRecord, now: number): string | undefined {
  if (notAfter === null) return undefined
  const leftMs = notAfter - now
  const left = leftMs < DAY_MS ? 'within a day' : `in ${Math.floor(leftMs / DAY_MS)} days`
  if (source === 'UPLOADED') {
    if (leftMs <= 0) return 'It has expired and is not used any more. Upload the next one, or delete it.'
    return leftMs > WARNING_MS ? undefined : `It expires ${left}. Upload the next one.`
  }
  if (state !== 'RENEWING' || leftMs > 7 * DAY_MS) return undefined
  return leftMs <= 0 ? 'It has expired.' : `It expires ${left}, and the next one could not be got yet.`
}
