/** Certificates of the operator: for the portal's own name and the wildcard. They are shown and changed on the data folder. */
import type { Clock, NewId } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import type { Sql, Vault } from '../storage/index.ts'
import { readUpload, renderCertificate } from './certificates.ts'
import { createCertificateRecords } from './store/records.ts'

type Parts = { sql: Sql; clock: Clock; newId: NewId; vault: Vault }

/** A service that runs on the data folder takes changes up with its next round. */
export function createOperatorCertificates({ sql, clock, newId, vault }: Parts) {
  const records = createCertificateRecords({ sql, clock, newId, vault, owner: 'operator' })
  const render = (record: Parameters<typeof renderCertificate>[0]) =>
    renderCertificate(record, { name: `certificates/${record.id}`, usedFor: [], now: clock.now() })
  return {
    list: async (): Promise<resources.Certificate[]> => (await records.ofOperator()).map(render),
    upload: async (chain: string, privateKey: string): Promise<resources.Certificate> =>
      render(await records.upload(null, readUpload(chain, privateKey, clock.now()))),
    remove: (id: string) => records.remove(null, id),
    retry: (id: string) => records.retry(null, id),
  }
}

export type OperatorCertificates = ReturnType<typeof createOperatorCertificates>
