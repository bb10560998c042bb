/**
 * Works on certificates in a process of its own, which a test can kill. Its edges are those of the parent. Started with one
 * argument: the file of the database and the settings, as JSON.
 */
import { createIds, createLog, systemClock } from '../../../src/base/index.ts'
import { openCertificates } from '../../../src/certificates/index.ts'
import { createLookup, createNameCheck } from '../../../src/reach/index.ts'
import { createVault } from '../../../src/storage/index.ts'
import { openSqlite } from '../../../src/storage/sql/sqlite.ts'
import { LEADING } from '../leading.ts'
import { cutShort } from './open.ts'

const { file, acme, sites, dns } = JSON.parse(process.argv[2] ?? '')
const sql = await openSqlite(file)

/** Resolves when the parent has done it. */
const ask = (what: string, given: unknown): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  process.once('message', () => resolve())
  process.send?.({ what, given })
  return promise
}

const { worker } = openCertificates({
  sql,
  clock: { ...systemClock, sleep: cutShort },
  log: createLog('silent'),
  newId: createIds(systemClock),
  vault: createVault(Buffer.alloc(32, 7)),
  edgeTls: {
    setCertificates: (given) => ask('setCertificates', given),
    setChallenges: (given) => ask('setChallenges', given),
  },
  acme,
  portalHost: undefined,
  domain: 'sites.example.com',
  sites: async () => sites,
  calling: { lookUp: createLookup({ servers: [dns] }), mayCall: () => true },
  checkName: createNameCheck({ lookUp: createLookup({ servers: [dns] }), publicAddresses: ['127.0.0.1'] }),
})
worker.lead(LEADING)
await worker.round()
await worker.settled()
process.disconnect()
