import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { doing, MIN_STALL_MS, type Stall, watchStalls } from './watchdog.ts'

const STALL_MS = 6 * MIN_STALL_MS

/** CPU time of this thread, which other programs do not lengthen. */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function work(ms: number) {
  const end = cpuMs() + ms
  while (cpuMs() < end);
}

function watch(t: TestContext) {
  const first = Promise.withResolvers<Stall>()
  const end = watchStalls((stall) => {
    // Other stalls come from the noise of the machine, and take no CPU time.
    if (stall.cpuMs > STALL_MS / 2) first.resolve(stall)
  })
  t.after(end)
  return first.promise
}

test('a stall is reported with its length, its CPU time and the work in progress', async (t) => {
  const stall = watch(t)
  await wait(60)
  doing('GET /v1/slow')
  work(STALL_MS)
  const { ms, doing: what } = await stall
  assert.ok(ms >= STALL_MS - MIN_STALL_MS, `${ms} ms`)
  assert.equal(what, 'GET /v1/slow')
})

test('what was begun after the slow piece of work, before the timer could go off, is not blamed for it', async (t) => {
  const stall = watch(t)
  await wait(60)
  doing('before')
  doing('slow')
  work(STALL_MS)
  doing('after')
  work(STALL_MS / 10)
  assert.equal((await stall).doing, 'slow')
})

test('work without a breadcrumb is not blamed on an old breadcrumb', async (t) => {
  const stall = watch(t)
  doing('long ago')
  await wait(200)
  work(STALL_MS)
  assert.equal((await stall).doing, 'nothing that has a name')
})

test('a watch that was ended reports nothing, and does not keep the process alive', async () => {
  const stalls: Stall[] = []
  watchStalls((stall) => stalls.push(stall))()
  work(STALL_MS)
  await wait(100)
  assert.deepEqual(stalls, [])
})
