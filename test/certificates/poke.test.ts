/** Several control processes on one database: what one of them was asked for reaches the others without waiting for their next look. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAccounts } from '../../src/accounts/index.ts'
import { type Clock, createChanges, createIds, createLog, systemClock } from '../../src/base/index.ts'
import { openCertificates } from '../../src/certificates/index.ts'
import { createVault, MIGRATIONS, migrate } from '../../src/storage/index.ts'
import { openSqlite } from '../../src/storage/sql/sqlite.ts'
import { HAS_OPENSSL, makeCertificate } from '../support/edge/tls.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'

const skip = HAS_OPENSSL ? false : 'openssl is not installed'

/** Their next look never comes by itself. */
const clock: Clock = { now: Date.now, sleep: (ms, signal) => systemClock.sleep(ms * 1000, signal) }

test('an upload at one control process begins a round in the others at once', { skip }, async (t) => {
  // Both take part in one database, and what is announced there reaches both, as with PostgreSQL.
  const changes = createChanges()
  const sql = await openSqlite(join(await temporaryFolder(t), 'headland.db'), { onChange: changes.notify })
  t.after(() => sql.close())
  await migrate(sql, MIGRATIONS, Date.now())
  const newId = createIds(systemClock)
  const { id } = await createAccounts({ sql, clock: systemClock, newId }).create('one')

  function open(owner: string) {
    const names: string[][] = []
    let rounds = 0
    const { certificates, worker, stop } = openCertificates({
      ...{ sql, clock, log: createLog('silent'), newId, owner },
      vault: createVault(Buffer.alloc(32, 7)),
      edgeTls: {
        setChallenges: async () => undefined,
        setCertificates: async (told) => void names.push(told.flatMap((certificate) => [...certificate.names])),
      },
      cluster: { changes, controls: async () => ['first', 'second'] },
      acme: undefined,
      portalHost: undefined,
      domain: 'sites.example.com',
      async sites(accountId) {
        if (accountId === undefined) rounds++
        return [{ accountId: id, hostLabel: 'shop', domains: ['www.example.com'] }]
      },
      checkName: async () => undefined as never,
      calling: undefined as never,
    })
    t.after(() => stop())
    return { certificates, worker, rounds: () => rounds, told: () => names.at(-1) ?? [] }
  }
  const [first, second] = [open('first'), open('second')]
  second.worker.start()
  await until(() => second.rounds() === 1)
  const { cert, key } = await makeCertificate(t, { names: ['www.example.com'] })
  await first.certificates.upload({ id, name: 'one' }, { chain: cert, privateKey: key })
  await until(() => second.told().includes('www.example.com'))
  assert.equal(second.rounds(), 2)
})
