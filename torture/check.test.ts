/** Tests of the checks: each reports a violation when it gets one, and none otherwise. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, type FoundEnvironment, type FoundState } from './check.ts'
import { createJournal, type Marks, type RecordedCall, type Visit } from './journal.ts'

const APP = 'accounts/ours/apps/shop'
const ENVIRONMENT = `${APP}/environments/e1`
const LABEL = 'e1-1'
const MARKS: Marks = { account: 'ours', label: LABEL, version: 1, kind: 'server', environment: 'e1', build: 'b1' }

/**
 * A short run: an app, an environment, an upload that went live, a rebuild by a webhook. All of it was acknowledged.
 */
function life() {
  const journal = createJournal()
  const { records } = journal
  let time = 0

  function called(kind: RecordedCall['kind'], more: Partial<RecordedCall> = {}): RecordedCall {
    const caller = `caller-${records.calls.length}`
    const operation = `${ENVIRONMENT}/operations/o${records.calls.length}`
    const call: RecordedCall = {
      ...{ kind, account: 'ours', about: ENVIRONMENT, caller, begun: ++time, ended: ++time },
      ...{ outcome: 'acknowledged', status: 200, reason: '', operation },
      ...more,
    }
    records.calls.push(call)
    if (call.outcome === 'acknowledged' && call.operation) {
      records.ended.set(call.operation, { operation: call.operation, at: ++time, error: undefined })
      found.operations.set(call.operation, { isDone: true, error: undefined })
    }
    return call
  }
  function visited(marks: Partial<Marks> = {}, more: Partial<Visit> = {}) {
    const visit = { environment: ENVIRONMENT, edge: 0, path: '/', begun: ++time, ended: ++time, status: 200 }
    records.visits.push({ ...visit, cacheStatus: 'hit', marks: { ...MARKS, ...marks }, ...more })
  }
  const environment: FoundEnvironment = {
    ...{ name: ENVIRONMENT, build: 'b1', variables: { MARK: 'blue' }, ledger: [] },
    pages: [{ status: 200, marks: MARKS }],
  }
  const found: FoundState = { apps: [APP], environments: [environment], operations: new Map() }
  const upload = (version: number) => called('upload', { upload: { version, kind: 'server', label: `e1-${version}` } })

  called('createApp', { about: APP, operation: '' })
  called('createEnvironment')
  upload(1)
  const rebuild = called('rebuild')
  environment.ledger.push({ userAgent: rebuild.caller, operation: rebuild.operation })
  called('variables', { value: 'blue' })
  visited()

  const violations = () => check(records, found).map(({ what }) => what)
  function assertViolation(expected: RegExp) {
    const actual = violations()
    assert.ok(
      actual.length > 0 && actual.every((what) => expected.test(what)),
      `expected ${expected}, but found: ${actual}`,
    )
  }
  return { records, found, environment, rebuild, called, upload, visited, violations, assertViolation, now: () => time }
}

test('a run in which every promise was kept has no violation', () => {
  assert.deepEqual(life().violations(), [])
})

test('an acknowledged app that is not there is a violation', () => {
  const { found, assertViolation } = life()
  found.apps = []
  assertViolation(/acknowledged app is lost/)
})

test('an acknowledged environment that is not there is a violation', () => {
  const { found, assertViolation } = life()
  found.environments = []
  assertViolation(/acknowledged environment is lost/)
})

test('an environment that was deleted and is there is a violation', () => {
  const { called, assertViolation } = life()
  called('deleteEnvironment')
  assertViolation(/although its deletion is done/)
})

test('an acknowledged operation that the service does not know is a violation', () => {
  const { found, rebuild, assertViolation } = life()
  found.operations.delete(rebuild.operation)
  assertViolation(/acknowledged operation is lost/)
})

test('an operation that is not done is a violation', () => {
  const { found, rebuild, assertViolation } = life()
  found.operations.set(rebuild.operation, { isDone: false, error: undefined })
  assertViolation(/operation is stuck/)
})

test('an operation that was not acknowledged and is not done is a violation', () => {
  const { found, assertViolation } = life()
  found.operations.set(`${ENVIRONMENT}/operations/unknown`, { isDone: false, error: undefined })
  assertViolation(/operation is stuck/)
})

test('an operation that failed while nothing was wrong is a violation', () => {
  const { found, rebuild, assertViolation } = life()
  found.operations.set(rebuild.operation, { isDone: true, error: 'INTERNAL' })
  assertViolation(/failed without a cause/)
})

test('a build that failed while builds were killed is no violation', () => {
  const { records, found, rebuild, violations } = life()
  found.operations.set(rebuild.operation, { isDone: true, error: 'BUILD_KILLED' })
  records.faults.push({ kind: 'killBuild', spoils: 'builds', detail: '', begun: rebuild.begun, ended: rebuild.ended })
  assert.deepEqual(violations(), [])
})

test('a build that failed while only the service was killed is a violation', () => {
  const { records, found, rebuild, assertViolation } = life()
  found.operations.set(rebuild.operation, { isDone: true, error: 'INTERNAL' })
  records.faults.push({
    kind: 'killControl',
    spoils: 'nothing',
    detail: '',
    begun: rebuild.begun,
    ended: rebuild.ended,
  })
  assertViolation(/failed without a cause/)
})

test('an acknowledged webhook call that is not in the ledger is a violation', () => {
  const { environment, assertViolation } = life()
  environment.ledger = []
  assertViolation(/not in the ledger/)
})

test('a webhook call that is in the ledger twice is a violation', () => {
  const { environment, assertViolation } = life()
  environment.ledger.push(...environment.ledger)
  assertViolation(/more than once/)
})

test('a ledger that names another operation than the answer is a violation, unless a rollback came before the rebuild', () => {
  const { environment, rebuild, upload, called, violations, assertViolation } = life()
  environment.ledger = [{ userAgent: rebuild.caller, operation: 'put-behind' }]
  assertViolation(/another operation than the response/)
  upload(2)
  called('activate', { activated: 1 })
  assert.deepEqual(violations(), [])
})

test('a call without an answer may be in the ledger or not', () => {
  const { called, violations } = life()
  called('rebuild', { outcome: 'lost', operation: '' })
  assert.deepEqual(violations(), [])
})

test('a call that is refused below the rate limit is a violation', () => {
  const { called, assertViolation } = life()
  called('rebuild', { outcome: 'refused', status: 429, reason: 'TOO_MANY_TRIGGERS', operation: '' })
  assertViolation(/refused without a cause/)
})

test('a variable that is not what was acknowledged last is a violation', () => {
  const { environment, assertViolation } = life()
  environment.variables = { MARK: 'red' }
  assertViolation(/a variable is red/)
})

test('a variable may be what a call without an answer set it to', () => {
  const { environment, called, violations } = life()
  called('variables', { value: 'green', outcome: 'lost', operation: '' })
  environment.variables = { MARK: 'green' }
  assert.deepEqual(violations(), [])
})

test('a site that shows another build than the live one is a violation', () => {
  const { environment, assertViolation } = life()
  environment.build = 'b2'
  assertViolation(/shows the build b1, and b2 is live/)
})

test('a site that shows an older version than one that went live is a violation', () => {
  const { upload, assertViolation } = life()
  upload(2)
  assertViolation(/version 1, which is older than 2/)
})

test('a rebuild that joined an upload whose response was lost is no violation', () => {
  const { environment, called, violations } = life()
  const { caller } = called('rebuild')
  const upload = { version: 2, kind: 'server', label: 'e1-2' } as const
  called('upload', { upload, outcome: 'unsure', status: 0, operation: '' })
  environment.ledger.push({ userAgent: caller, operation: `${ENVIRONMENT}/operations/without-a-caller` })
  assert.deepEqual(violations(), [])
})

test('a rebuild of another archive than the last one is a violation', () => {
  const { environment, called, assertViolation } = life()
  called('upload', { upload: { version: 2, kind: 'server', label: 'e1-2' }, operation: '' })
  environment.rebuilt = [MARKS]
  assertViolation(/a rebuild made version 1/)
})

test('a rebuild of the archive before an upload that was cancelled is no violation', () => {
  const { records, environment, called, upload, violations } = life()
  const { operation } = upload(2)
  called('cancel', { operation: '' })
  records.ended.set(operation, { operation, at: 100, error: 'OPERATION_CANCELLED' })
  environment.rebuilt = [MARKS]
  assert.deepEqual(violations(), [])
})

test('a rebuild of the archive that a rollback pinned is no violation', () => {
  const { environment, called, violations } = life()
  called('upload', { upload: { version: 2, kind: 'server', label: 'e1-2' }, operation: '' })
  called('activate', { activated: 1, operation: '' })
  environment.rebuilt = [MARKS]
  assert.deepEqual(violations(), [])
})

test('a page of another account is a violation', () => {
  const { visited, assertViolation } = life()
  visited({ account: 'theirs' })
  assertViolation(/page of another account/)
})

test('a page of another environment is a violation', () => {
  const { visited, assertViolation } = life()
  visited({ label: 'e2-1' })
  assertViolation(/page of another environment/)
})

test('an old version that is served after a new one went live is a violation', () => {
  const { environment, upload, visited, assertViolation } = life()
  upload(2)
  environment.pages = [{ status: 200, marks: { ...MARKS, version: 2, label: 'e1-2' } }]
  visited()
  assertViolation(/got version 1 after version 2/)
})

test('an old version may be served again once it was requested', () => {
  const { upload, called, visited, violations } = life()
  upload(2)
  called('activate', { activated: 1 })
  visited()
  assert.deepEqual(violations(), [])
})

test('an old version may be served by an edge that is cut off, and by no other', () => {
  const { records, environment, upload, visited, violations, assertViolation, now } = life()
  const begun = now()
  upload(2)
  environment.pages = [{ status: 200, marks: { ...MARKS, version: 2, label: 'e1-2' } }]
  visited({}, { edge: 1 })
  records.faults.push({ kind: 'cutEdge', spoils: 'nothing', detail: '', edge: 1, begun, ended: now() + 1 })
  assert.deepEqual(violations(), [])
  visited({}, { edge: 0 })
  assertViolation(/got version 1 after version 2/)
})

test('an old version is a violation again when the edge is back', () => {
  const { records, environment, upload, visited, assertViolation, now } = life()
  records.faults.push({ kind: 'cutEdge', spoils: 'nothing', detail: '', edge: 1, begun: 0, ended: now() })
  upload(2)
  environment.pages = [{ status: 200, marks: { ...MARKS, version: 2, label: 'e1-2' } }]
  visited({}, { edge: 1 })
  assertViolation(/got version 1 after version 2/)
})

test('a visit that waited may get an old version that was requested meanwhile', () => {
  const { upload, called, visited, violations, now } = life()
  upload(2)
  const begun = now()
  called('activate', { activated: 1 })
  visited({}, { begun })
  assert.deepEqual(violations(), [])
})

test('a purged page is a violation', () => {
  const { called, visited, environment, now, assertViolation } = life()
  const rendered = now()
  const { caller, operation } = called('purge', { purge: {} })
  environment.ledger.push({ userAgent: caller, operation })
  visited({ rendered })
  assertViolation(/got a purged page/)
})

test('a purged page is a violation at an edge that is cut off, too', () => {
  const { records, called, visited, environment, now, assertViolation } = life()
  const rendered = now()
  const { caller, operation } = called('purge', { purge: {} })
  environment.ledger.push({ userAgent: caller, operation })
  records.faults.push({ kind: 'cutEdge', spoils: 'nothing', detail: '', edge: 0, begun: 0, ended: now() + 100 })
  visited({ rendered })
  assertViolation(/got a purged page/)
})

test('a page outside of a purge may still be served', () => {
  const { called, visited, environment, now, violations } = life()
  const rendered = now()
  const { caller, operation } = called('purge', { purge: { paths: ['/a'], tags: ['page-slow'] } })
  environment.ledger.push({ userAgent: caller, operation })
  visited({ rendered })
  assert.deepEqual(violations(), [])
})

test('a page that is served after its environment was deleted is a violation', () => {
  const { called, visited, found, assertViolation } = life()
  called('deleteEnvironment')
  found.environments = []
  visited()
  assertViolation(/after the environment was deleted/)
})
