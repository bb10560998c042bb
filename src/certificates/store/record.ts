/** A certificate, or the wish for one, as it is stored. Keys are not among it: they are opened where they are used. */
import type { resources } from '../../contract/index.ts'
import { statement, type Transaction } from '../../storage/index.ts'
import type { ChallengeType } from '../acme/client.ts'
import type { StoredFailure } from '../failure.ts'
import type { AcmeState, Scheduled } from '../schedule.ts'

export type CertificateRecord = Scheduled & {
  id: string
  source: resources.CertificateSource
  /** Null: of the operator. */
  accountId: string | null
  names: string[]
  isWanted: boolean
  /** The CA of the order, or of the certificate if there is no order. */
  directory: string | null
  /** Of the order that is under way. */
  orderUrl: string | null
  sealedOrderKey: string | null
  /** How the CA was convinced last. */
  challenge: ChallengeType | null
  /** The content of a TXT record that the command of the operator was asked to add, and not yet to remove. */
  dnsRecord: string | null
  chain: string | null
  sealedKey: string | null
  issuer: string | null
  createTime: number
}

/** What is needed to choose among all of them. A chain may be some kilobytes. */
export type CertificateHead = Pick<
  CertificateRecord,
  'id' | 'source' | 'accountId' | 'names' | 'notBefore' | 'notAfter'
> & {
  hasChain: boolean
  /** Another one for each chain and its key. */
  version: string
}

export type CertificateRow = {
  id: string
  source: CertificateRecord['source']
  account_id: string | null
  names: string
  wanted: number
  state: AcmeState
  attempts: number
  next_time: number | null
  failure: string | null
  directory: string | null
  order_url: string | null
  sealed_order_key: string | null
  challenge: ChallengeType | null
  dns_record: string | null
  chain: string | null
  sealed_key: string | null
  issuer: string | null
  not_before: number | null
  not_after: number | null
  renew_time: number | null
  renewal_info_time: number | null
  create_time: number
}

export const columns = statement`id, source, account_id, names, wanted, state, attempts, next_time, failure, directory,
  order_url, sealed_order_key, challenge, dns_record, chain, sealed_key, issuer, not_before, not_after, renew_time,
  renewal_info_time, create_time`

export const toRecord = (row: CertificateRow): CertificateRecord => ({
  id: row.id,
  source: row.source,
  accountId: row.account_id,
  names: JSON.parse(row.names),
  isWanted: row.wanted === 1,
  state: row.state,
  attempts: row.attempts,
  nextTime: row.next_time,
  failure: row.failure === null ? null : (JSON.parse(row.failure) as StoredFailure),
  directory: row.directory,
  orderUrl: row.order_url,
  sealedOrderKey: row.sealed_order_key,
  challenge: row.challenge,
  dnsRecord: row.dns_record,
  chain: row.chain,
  sealedKey: row.sealed_key,
  issuer: row.issuer,
  notBefore: row.not_before,
  notAfter: row.not_after,
  renewTime: row.renew_time,
  renewalInfoTime: row.renewal_info_time,
  createTime: row.create_time,
})

/** Each key is bound to its row: a sealed key that is copied to another row does not open. */
export const keyPlace = (id: string): string => `certificates/${id}/key`

/** For rows of a restored database: throws unless the names are a list of texts. */
export function checkCertificateNames(names: unknown) {
  const isList = Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string')
  if (!isList) throw new Error('they are not a list of host names')
}

export function notify(tx: Transaction, accountId: string | null, id: string, names: readonly string[] = []) {
  if (accountId !== null) tx.notify(accountId, `certificates/${id}`, { title: names.slice(0, 3).join(', ') })
}

/** How many ids one statement names. */
const CHUNK = 200

export function* chunks(ids: readonly string[]): Generator<string[]> {
  for (let at = 0; at < ids.length; at += CHUNK) yield ids.slice(at, at + CHUNK)
}
