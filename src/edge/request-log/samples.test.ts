import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cacheResultOf, type RequestRecord } from './record.ts'
import { createSamples, type SampleLimits } from './samples.ts'

const record = (time: number, status = 200): RequestRecord => ({
  time,
  method: 'GET',
  path: `/${time}`,
  status,
  durationMs: 1,
  bytes: 100,
  cache: 'miss',
  outcome: 'complete',
})

/** Repeatable, and spread evenly enough. */
function sequence() {
  let state = 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

function start(limits: Partial<SampleLimits> = {}) {
  const samples = createSamples<RequestRecord>({ ofEnvironment: 10, ofAll: 1000, ...limits }, sequence())
  let time = 0
  return {
    ...samples,
    take: () => Object.fromEntries(samples.take()),
    add(environment: string, status = 200, count = 1) {
      for (let done = 0; done < count; done++)
        if (samples.isKept(environment, status)) samples.keep(record(++time, status))
        else time++
    },
  }
}

const omittedIn = (records: readonly RequestRecord[] = []): number =>
  records.reduce((sum, { omitted = 0 }) => sum + omitted, 0)

test('a few requests are all there, in order, once', () => {
  const samples = start()
  samples.add('a', 200, 3)
  samples.add('a', 500)
  samples.add('a', 200, 2)
  samples.add('b')
  const taken = samples.take()
  assert.deepEqual(
    taken.a?.map(({ time, status }) => [time, status]),
    [
      [1, 200],
      [2, 200],
      [3, 200],
      [4, 500],
      [5, 200],
      [6, 200],
    ],
  )
  assert.equal(taken.b?.length, 1)
  assert.equal(omittedIn(taken.a), 0)
  assert.deepEqual(samples.take(), {})
})

test('of a flood a sample from all of it stays, each error that fits, and the number of the others', () => {
  const samples = start()
  samples.add('a', 200, 5000)
  samples.add('a', 500, 7)
  samples.add('a', 200, 5000)
  const records = samples.take().a ?? []
  const [errors, others] = [records.filter(({ status }) => status >= 500), records.filter(({ status }) => status < 500)]
  assert.deepEqual([errors.length, others.length], [7, 10])
  assert.equal(omittedIn(errors), 0)
  assert.equal(omittedIn(others), 9990)
  assert.ok(others.some(({ time }) => time < 5000) && others.some(({ time }) => time > 5000))
  const times = records.map(({ time }) => time)
  assert.deepEqual(
    times,
    times.toSorted((one, other) => one - other),
  )
})

test('with many environments each has its share, and at least one request of each is there', () => {
  const samples = start({ ofAll: 40 })
  for (let round = 0; round < 2; round++) {
    for (let number = 0; number < 100; number++) samples.add(`e${number}`, 200, 20)
    const taken = samples.take()
    assert.equal(Object.keys(taken).length, 100)
    const counts = Object.values(taken).map(({ length }) => length)
    assert.ok(counts.every((count) => count >= 1))
    assert.ok(counts.reduce((sum, count) => sum + count, 0) <= 40 + 100)
    // From the second report on, the shares are those of as many environments.
    if (round === 1) assert.ok(counts.every((count) => count === 1))
    assert.equal(omittedIn(Object.values(taken).flat()) + counts.reduce((sum, count) => sum + count, 0), 2000)
  }
})

test('requests that could not be reported are counted with the next one', () => {
  const samples = start()
  samples.add('a', 200, 100)
  const lost = samples.take()
  samples.giveBack(lost)
  assert.deepEqual(samples.take(), {})
  samples.add('a')
  assert.equal(omittedIn(samples.take().a), 100)
})

test('the cache result is that of Cache-Status', () => {
  const cases: [string | undefined, string][] = [
    ['headland; hit; ttl=30', 'hit'],
    ['headland; hit; ttl=-3; detail=stale-while-revalidate', 'stale'],
    ['headland; hit; ttl=0; detail=stale-if-error', 'stale'],
    ['headland; hit; ttl=-3', 'stale'],
    ['headland; hit; detail=file', 'static'],
    ['headland; fwd=uri-miss; stored', 'miss'],
    ['headland; fwd=stale; fwd-status=304', 'miss'],
    ['headland; fwd=bypass; detail=preview', 'bypass'],
    ['headland; fwd=method', 'bypass'],
    ['headland; detail=only-if-cached', 'none'],
    [undefined, 'none'],
  ]
  for (const [status, result] of cases) assert.equal(cacheResultOf(status), result, status)
})
