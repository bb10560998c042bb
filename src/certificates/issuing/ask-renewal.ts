/** Asks the CA when a certificate should be renewed (RFC 9773), and schedules that. */
import { createHash } from 'node:crypto'
import type { Clock, Log } from '../../base/index.ts'
import type { AcmeClient } from '../acme/client.ts'
import { failureOf } from '../failure.ts'
import { afterRenewalInfo } from '../schedule.ts'
import type { CertificateRecord } from '../store/record.ts'
import type { CertificateRecords } from '../store/records.ts'
import { renewalId } from '../x509/chain.ts'

type Parts = { clock: Clock; log: Log; records: Pick<CertificateRecords, 'schedule'> }

export function createAskRenewal({ clock, log, records }: Parts) {
  function unlessCa(error: unknown): undefined {
    if (!failureOf(error, '')) throw error
    log.debug({ err: error }, 'the CA could not be asked when to renew')
  }

  return async function askRenewal(client: AcmeClient, record: CertificateRecord) {
    const { id, chain, notBefore, notAfter } = record
    if (chain === null || notBefore === null || notAfter === null) return
    const certificate = renewalId(chain)
    const window = certificate === undefined ? undefined : await client.renewalInfo(certificate).catch(unlessCa)
    const change = afterRenewalInfo({ ...record, notBefore, notAfter }, window, {
      now: clock.now(),
      fraction: fractionOf(record),
    })
    await records.schedule(id, change)
  }
}

/** From 0 to 1, the same for one certificate at any time. */
const fractionOf = ({ id, notBefore }: CertificateRecord): number =>
  createHash('sha256').update(`${id} ${notBefore}`).digest().readUInt32BE(0) / 2 ** 32
