/** Several control processes on one database: the CA may come in at an edge that follows another one than the leader. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChanges, createLog, systemClock } from '../../src/base/index.ts'
import { createSharedChallenges } from '../../src/certificates/issuing/shared-challenges.ts'
import { createSharedChallengeRecords } from '../../src/certificates/store/shared-challenges.ts'
import type { EdgeChallenges } from '../../src/edge/index.ts'
import { createVault } from '../../src/storage/index.ts'
import { startCertificates } from '../support/certificates/open.ts'
import { NEEDS_PEBBLE } from '../support/certificates/pebble.ts'
import { LEADING } from '../support/leading.ts'
import { migratedSql } from '../support/sql.ts'

const CONTROLS = ['first', 'second']

for (const type of ['http-01', 'tls-alpn-01'] as const) {
  test(`the edge of another control process than the leader answers ${type}`, NEEDS_PEBBLE, async (t) => {
    const on = await startCertificates(t, {
      challengeTypes: [type],
      sleep: systemClock.sleep,
      first: { owner: 'first', hasEdge: false, controls: CONTROLS },
    })
    await on.open({ owner: 'second', isLeading: false, controls: CONTROLS })
    const { id } = await on.accounts.create('one')
    on.addSite(id, ['www.example.com'])
    await on.round()
    assert.equal((await on.stateOf('www.example.com')).failure, null)
    assert.ok((await on.stateOf('www.example.com')).chain)
  })
}

test('challenges are sealed in the database, and gone when the certificate is there', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t, {
    sleep: systemClock.sleep,
    first: { owner: 'first', controls: ['first'] },
  })
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  await on.round()
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(on.file, { readOnly: true })
  t.after(() => database.close())
  const row = database.prepare('SELECT revision, challenges FROM acme_challenges').get() as Record<string, unknown>
  assert.match(String(row.challenges), /^v1\./)
  assert.ok(Number(row.revision) >= 3, 'reset, added, taken back')
})

test('a control process that is gone is not waited for without end', async (t) => {
  const sql = await migratedSql(t)
  const given: EdgeChallenges[] = []
  const shared = createSharedChallenges({
    clock: { now: Date.now, sleep: (ms, signal) => systemClock.sleep(ms / 1000, signal) },
    log: createLog('silent'),
    changes: createChanges(),
    records: createSharedChallengeRecords({ sql, vault: createVault(Buffer.alloc(32, 7)), checkTerm: LEADING.check }),
    edgeTls: { setChallenges: async (challenges) => void given.push(challenges) },
    control: 'first',
    controls: async () => ['first', 'gone'],
  })
  t.after(shared.stop)
  const challenges = { http: { token: 'authorization' }, alpn: {} }
  await shared.setChallenges(challenges)
  assert.deepEqual(given, [challenges])
})
