/** What is recorded of publishes, on a real database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../../test/support/folder.ts'
import { openModules } from '../../../test/support/modules/deployments.ts'
import { openPinning } from '../../../test/support/modules/pins.ts'
import { LIMITS, Problem } from '../../contract/index.ts'
import { createFirstVisits, createPublishRecords, type Publish } from '../../publishes/index.ts'
import { statement, toPage } from '../../storage/index.ts'
import { createPurges } from '../purges.ts'
import { createRevalidations } from '../records/revalidations.ts'
import { createClearCache } from '../requests/clear-cache.ts'
import type { LateNotice } from './late-notice.ts'
import { createPublishing } from './publishing.ts'

async function open(t: Scope) {
  const modules = await openModules(t)
  const { sql, clock } = modules
  const records = createPublishRecords(modules)
  const notices: LateNotice[] = []
  const publishing = createPublishing({
    ...modules,
    records,
    recordNotice: async (_, notice) => void notices.push(notice),
  })
  const parts = { ...modules, publishing }
  const pinning = await openPinning(t, parts)
  const { environmentId } = pinning.path
  const published = async (): Promise<Publish[]> =>
    (await records.list(environmentId, toPage({ order: 'oldest' }))).items
  const visits = createFirstVisits({ ...modules, records })

  return {
    ...pinning,
    modules: parts,
    records,
    notices,
    publishing,
    published,
    promise: (seconds: number) =>
      sql.transaction((tx) =>
        tx.query(statement`UPDATE environments SET publish_promise_seconds = ${seconds} WHERE id = ${environmentId}`),
      ),
    /** Claims what waits, lets it take so long, and ends it as the worker does. */
    async work(ms: number, isGood = true) {
      await pinning.claim()
      await clock.advance(ms)
      const operation = await pinning.finish(isGood)
      const ending = isGood ? { response: {} } : { error: new Problem('BUILD_SCRIPT_FAILED') }
      if (operation) await sql.transaction((tx) => publishing.ended(tx, operation, ending))
    },
    visit: (of: { deployment: string } | { publish: string }, agoMs: number) =>
      visits.receive({ [environmentId]: { firstVisits: [{ ...of, agoMs }] } }),
  }
}

test('calls that joined a build are one publish, measured from the first, and late above what is promised: one notice', async (t) => {
  const { upload, rebuild, work, promise, published, notices, clock } = await open(t)
  await upload('first')
  await work(1000)
  await promise(5)
  const begin = clock.now()
  await rebuild()
  await clock.advance(2000)
  await rebuild()
  await clock.advance(1000)
  await work(4000)
  const [, late] = await published()
  assert.ok(late)
  const { state, calls, callTime, beginTime, endTime, promiseSeconds, trigger } = late
  assert.deepEqual(
    { state, calls, trigger, callTime, beginTime, endTime, promiseSeconds },
    {
      ...{ state: 'VISIBLE', calls: 2, trigger: 'REBUILD', callTime: begin, beginTime: begin + 3000 },
      ...{ endTime: begin + 7000, promiseSeconds: 5 },
    },
  )
  assert.equal(notices.length, 1)
  assert.match(notices[0]?.text ?? '', /visible 7\.0 s after the first call\. Promised: 5\.0 s/)
})

test('an upload that a newer one replaced, a cancelled one and one that failed are listed as such', async (t) => {
  const { upload, cancel, work, published, notices, promise } = await open(t)
  await promise(1)
  await upload('a')
  await upload('b')
  await work(5000, false)
  await cancel((await upload('c')).id)
  const all = await published()
  assert.deepEqual(
    all.map(({ state, reason, deploymentId, endTime }) => [state, reason, deploymentId, endTime !== null]),
    [
      ['SUPERSEDED', 'SUPERSEDED', null, true],
      ['FAILED', 'BUILD_SCRIPT_FAILED', null, true],
      ['CANCELLED', 'OPERATION_CANCELLED', null, true],
    ],
  )
  assert.deepEqual(notices, [])
})

test('of the first visits at several edges the earliest counts, whatever the order of their reports', async (t) => {
  const { upload, work, live, visit, published, clock } = await open(t)
  await upload('a')
  await work(1000)
  const deployment = (await live()) ?? ''
  await clock.advance(10_000)
  await visit({ deployment: 'another' }, 0)
  await visit({ deployment }, 3000)
  await visit({ deployment }, 7000)
  await visit({ deployment }, 1000)
  const [one] = await published()
  assert.equal(one?.visitTime, clock.now() - 7000)
})

test('a purge is a publish from its first call until edges have it, and one that they did not confirm has failed', async (t) => {
  const { modules, path, account, published, visit, clock } = await open(t)
  const sent: unknown[] = []
  let isAway = false
  const edges = {
    leaseMs: 1,
    async purge(purge: unknown) {
      sent.push(purge)
      await clock.advance(40)
      if (isAway) throw new Problem('PURGE_NOT_CONFIRMED')
    },
  }
  const instances = { refreshExpiries: async () => undefined }
  const purges = createPurges({ ...modules, edges, revalidations: createRevalidations(modules), instances })
  const clearCache = createClearCache({
    ...modules,
    purges,
    finishWithEnvironment: () => async () => ({ response: {} }),
  })
  const at = { account, appName: path.appName, environmentId: path.environmentId }
  const time = clock.now()
  const who = { source: 'WEBHOOK', requestedBy: null, address: '', userAgent: '' } as const
  const asked = [time - 10, time].map((each) => ({ action: 'PURGE_CACHE' as const, ...who, time: each }))
  const { id } = await clearCache(at, { paths: ['/a'] }, asked)
  isAway = true
  await assert.rejects(clearCache(at, {}, asked), /PURGE_NOT_CONFIRMED|confirm/)
  const [done, failed] = await published()
  assert.ok(done && failed)
  const { state, calls, callTime, endTime, operationId } = done
  assert.deepEqual([state, calls, callTime, endTime, operationId], ['VISIBLE', 2, time - 10, time + 40, id])
  assert.deepEqual([failed.state, failed.reason], ['FAILED', 'PURGE_NOT_CONFIRMED'])
  assert.deepEqual(sent[0], { environment: path.environmentId, paths: ['/a'], publish: done.id })
  await visit({ publish: done.id }, 5)
  assert.equal((await published())[0]?.visitTime, clock.now() - 5)
})

test('the newest of each kind are kept, for a month', async (t) => {
  const { modules, records, path, clock } = await open(t)
  const { environmentId } = path
  const add = (kind: 'BUILD' | 'PURGE', count: number, callTime = clock.now()) =>
    modules.sql.transaction(async (tx) => {
      const more = { trigger: 'REBUILD', state: 'VISIBLE', calls: 1, callTime } as const
      for (let at = 0; at < count; at++) await records.insert(tx, { environmentId, kind, ...more })
    })
  const count = async (kind: string) =>
    (await modules.sql.query(statement`SELECT id FROM publishes WHERE kind = ${kind}`)).length
  await add('BUILD', 3, clock.now() - 32 * 24 * 60 * 60_000)
  await add('BUILD', 100)
  await add('PURGE', LIMITS.publishesKept * 1.2)
  const kept = await count('PURGE')
  assert.ok(kept >= LIMITS.publishesKept && kept <= LIMITS.publishesKept * 1.1, `${kept} are kept`)
  assert.equal(await count('BUILD'), 100)
})
