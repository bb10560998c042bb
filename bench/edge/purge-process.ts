/** Fills the store of the edge's cache, measures its memory, and purges it. Prints the results in one line. */
import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { type StoredResponse, toStored } from '../../src/edge/cache/store/object.ts'
import { createStore } from '../../src/edge/cache/store/store.ts'
import { median } from '../bench.ts'

const BODY_BYTES = 64
const ROUNDS = 5
const ENVIRONMENT = 'e1'
const COMMON = { status: 200, reason: 'OK', variant: '', vary: undefined, deployment: 'd1', targeted: undefined }

const count = Number(process.argv[2])
const store = createStore({ maxBytes: Number.MAX_SAFE_INTEGER, now: Date.now })
const partition = store.partitionOf(ENVIRONMENT)

const emptyBytes = residentBytes()
fill()
const bytesPerObject = (residentBytes() - emptyBytes) / count - BODY_BYTES

let longestPauseMs = 0
const times: Record<'path' | 'tag' | 'all', number[]> = { path: [], tag: [], all: [] }
for (let round = 0; round < ROUNDS; round++) {
  if (round > 0) fill()
  times.path.push(timeOf(() => store.purge({ environment: ENVIRONMENT, paths: [pathOf(1)] })))
  assert.deepEqual([isFound(1), isFound(2)], [false, true])
  times.tag.push(timeOf(() => store.purge({ environment: ENVIRONMENT, tags: ['all'] })))
  assert.equal(isFound(2), false)
  assert.ok(store.put(partition, makeObject(3)) && isFound(3))
  times.all.push(timeOf(() => store.purge({ environment: ENVIRONMENT })))
  assert.equal(isFound(3), false)
  assert.equal(store.count(), 0)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await goOn()
  delay.disable()
  longestPauseMs = Math.max(longestPauseMs, delay.max / 1e6)
}
const [purgePathMs, purgeTagMs, purgeMs] = [median(times.path), median(times.tag), median(times.all)]
process.stdout.write(`${JSON.stringify({ bytesPerObject, purgeMs, purgePathMs, purgeTagMs, longestPauseMs })}\n`)

function fill() {
  for (let at = 0; at < count; at++) assert.ok(store.put(partition, makeObject(at)))
  assert.equal(store.count(), count)
}

/** Purged objects are garbage now: a visitor must not wait for their collection. */
async function goOn() {
  for (let round = 0; round < 100; round++) {
    for (let at = 0; at < 100; at++) store.put(partition, makeObject(at))
    await wait(10)
  }
}

/** Headers as a page of a framework has them, with no string shared between objects. */
function makeObject(at: number): StoredResponse {
  const time = Date.now()
  return toStored({
    ...COMMON,
    key: keyOf(at),
    path: pathOf(at),
    headers: [
      ...['content-type', 'text/html; charset=utf-8', 'cache-control', 's-maxage=3600, stale-while-revalidate=60'],
      ...['etag', `"${at.toString(16).padStart(16, '0')}"`, 'vary', 'accept-encoding'],
      ...['last-modified', new Date(at * 1000).toUTCString(), 'date', new Date(time - at).toUTCString()],
    ],
    isCompressible: true,
    lifetime: {
      bornMs: time - at,
      freshMs: 3_600_000,
      from: 'cache-control: s-maxage=3600',
      whileRevalidatingMs: 60_000,
      ifErrorMs: 0,
      mayBeStale: true,
      mustValidate: false,
    },
    tags: ['all', `post:${at}`],
    purgeNumber: store.purgeNumber(),
    storeTime: time,
    validateTime: time,
    size: BODY_BYTES,
    // Each object has its own buffer, as responses of apps have.
    body: Buffer.allocUnsafeSlow(BODY_BYTES).fill(at),
    place: undefined,
  })
}

function pathOf(at: number): string {
  return `/articles/${at % 1000}/a-title-of-some-words-${at}`
}

function keyOf(at: number): string {
  return `http:12:site.example${pathOf(at)}`
}

function isFound(at: number): boolean {
  return store.find(partition, keyOf(at), {}, 'd1').kind === 'found'
}

function timeOf(work: () => void): number {
  const startTime = performance.now()
  work()
  return performance.now() - startTime
}

/** Resident memory after a garbage collection. */
function residentBytes(): number {
  for (let round = 0; round < 3; round++) globalThis.gc?.()
  return process.memoryUsage.rss()
}
