import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment, Environment, Operation } from '../types.ts'
import { decisiveOperation, environmentState, operationState, outcomeOf, stepsOf } from './state.ts'

type Latest = { done?: boolean; reason?: string; build?: string; trigger?: string; phase?: string }

function environment(given: Partial<Environment> = {}, latest?: Latest): Environment {
  const { done = true, build = 'accounts/a/builds/1', trigger = 'UPLOAD', ...reason } = latest ?? {}
  const latestOperation = latest && { name: 'o', done, build, trigger, ...reason }
  return { state: 'LIVE', reconciling: false, ...given, latestOperation } as Environment
}

function operation(given: { done?: boolean; reason?: string; build?: string; trigger?: string } = {}): Operation {
  const { done = true, reason, build = 'accounts/a/builds/1', trigger = 'UPLOAD' } = given
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }]
  return {
    name: 'o',
    metadata: { build, trigger, phase: done ? 'DONE' : 'BUILDING' },
    done,
    ...(reason ? { error: { code: 9, message: 'It failed.', details } } : {}),
  } as unknown as Operation
}

const instance = (state: string) => ({ instance: { state, running: 0, restarts: 3 } }) as Deployment

test('a live environment whose last build failed is live, and says so', () => {
  assert.deepEqual(environmentState(environment({}, { reason: 'BUILD_SCRIPT_FAILED' })), {
    tone: 'warn',
    word: 'Live, last build failed',
    detail: 'Visitors get the deployment before it.',
  })
  const changed = { reason: 'START_CRASHED', trigger: 'UPDATE', build: 'accounts/a/builds/no_build' }
  assert.equal(environmentState(environment({}, changed)).word, 'Live, last change failed')
})

test('a live environment whose last build is held is live, and the build did not fail', () => {
  const held = { reason: 'SUSPICIOUS_OUTPUT' }
  assert.equal(environmentState(environment({}, held)).word, 'Live, last build held')
  assert.deepEqual(operationState(operation(held)), { tone: 'warn', word: 'Held' })
  assert.equal(outcomeOf(operation(held)), 'held')
})

test('an environment that has nothing to show for a failed build is not called empty', () => {
  assert.equal(environmentState(environment({ state: 'EMPTY' }, { reason: 'PLAN_FAILED' })).word, 'Build failed')
  assert.equal(environmentState(environment({ state: 'EMPTY' })).word, 'Nothing deployed')
})

test('a purge or a cancelled build after a failed one does not hide the failure', () => {
  const failed = operation({ reason: 'TYPE_ERROR' })
  const noise = [operation({ trigger: 'PURGE_CACHE' }), operation({ reason: 'OPERATION_CANCELLED' })]
  assert.equal(decisiveOperation([...noise, failed]), failed)
  const running = operation({ done: false })
  assert.equal(decisiveOperation([running, failed]), running)
  assert.equal(decisiveOperation(noise), undefined)
})

test('work under way comes before what was', () => {
  assert.equal(environmentState(environment({}, { done: false })).word, 'Building')
  assert.equal(environmentState(environment({ reconciling: true }, { reason: 'TYPE_ERROR' })).word, 'Working')
  assert.equal(environmentState(environment({ state: 'DELETING' })).word, 'Deleting')
})

test('what waits for its turn is not called building', () => {
  assert.equal(environmentState(environment({}, { done: false, phase: 'QUEUED' })).word, 'Waiting')
  assert.equal(environmentState(environment({}, { done: false, phase: 'QUEUED', trigger: 'ACTIVATE' })).word, 'Waiting')
  assert.equal(
    environmentState(environment({}, { done: false, phase: 'QUEUED', trigger: 'CREATE' })).word,
    'Being created',
  )
  const waiting = operation({ done: false })
  waiting.metadata.phase = 'QUEUED'
  assert.equal(operationState(waiting).word, 'Waiting')
})

test('a build that was cancelled or superseded is no failure', () => {
  assert.equal(environmentState(environment({}, {})).word, 'Live')
  assert.equal(outcomeOf(operation({ reason: 'SUPERSEDED' })), 'superseded')
  assert.equal(operationState(operation({ reason: 'OPERATION_CANCELLED' })).tone, 'idle')
})

test('an app that crashes again and again is shown, whatever else is well', () => {
  assert.equal(environmentState(environment({}, {}), instance('CRASH_LOOP')).tone, 'bad')
  assert.equal(environmentState(environment({}, {}), instance('ASLEEP')).tone, 'good')
})

test('steps before the phase are done, those after it lie ahead', () => {
  const states = stepsOf('UPLOAD', 'INSTALLING', 'running').map(({ state }) => state)
  assert.deepEqual(states, ['done', 'done', 'done', 'now', 'ahead', 'ahead', 'ahead'])
})

test('a build that failed stopped at the last phase that took time', () => {
  const steps = stepsOf('REBUILD', 'DONE', 'stopped', { UNPACKING: 1, PLANNING: 0, INSTALLING: 4, BUILDING: 9.5 })
  assert.deepEqual(
    steps.map(({ state }) => state),
    ['done', 'done', 'done', 'done', 'failed', 'skipped', 'skipped'],
  )
  assert.equal(steps[4]?.seconds, 9.5)
})

test('a build that failed blames no step before it is known which', () => {
  assert.ok(stepsOf('REBUILD', 'DONE', 'stopped').every(({ state }) => state === 'skipped'))
})

test('an operation that went well has all its steps behind it, and one without steps has none', () => {
  assert.ok(stepsOf('ACTIVATE', 'DONE', 'well').every(({ state }) => state === 'done'))
  assert.deepEqual(stepsOf('PURGE_CACHE', 'DONE', 'well'), [])
})
