/** Which job is killed when disks fill up, with simulated disks. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { until } from '../../../test/support/until.ts'
import { openDisks } from './disk.ts'
import { sizeOf } from './measure.ts'

const MB = 1024 ** 2

/** One simulated disk with a folder for each job. */
function disk(t: TestContext, { size = 100_000 * MB, files = 1_000_000, reserveBytes = 512 * MB } = {}) {
  const [used, counts] = [new Map<string, number>(), new Map<string, number>()]
  const over: string[] = []
  const endless = new Set<string>()
  let [measured, others, looked] = [0, 0, 0]
  const total = (map: Map<string, number>) => [...map.values()].reduce((sum, each) => sum + each, 0)
  const disks = openDisks({
    reserveBytes,
    tools: {
      deviceOf: async () => 1,
      async spaceAt() {
        looked++
        return { freeBytes: size - total(used) - others, freeFiles: files - total(counts) }
      },
      async sizeOf(writer, what) {
        measured++
        if (endless.has(writer.folders[0] ?? '')) return Number.POSITIVE_INFINITY
        return (what === 'bytes' ? used : counts).get(writer.folders[0] ?? '') ?? 0
      },
    },
  })
  return {
    over,
    used,
    counts,
    endless,
    measures: () => measured,
    /** Bytes and files of so many jobs have been measured for the first time. */
    untilMeasured: (jobs: number) => until(() => measured >= 2 * jobs),
    /** Resolves when the free space was polled so many times from now on. */
    untilLooked(times: number) {
      const before = looked
      return until(() => looked > before + times)
    },
    writeElsewhere: (bytes: number) => (others += bytes),
    job(name: string, limitBytes: number | null, bytes = 0, limitFiles: number | null = null) {
      used.set(name, bytes)
      const stop = disks.add({
        folders: [name],
        max: { bytes: limitBytes, files: limitFiles },
        processes: () => [],
        onExcess: (what) => over.push(what === 'disk' ? name : `${name}: ${what}`),
      })
      t.after(stop)
      return stop
    },
  }
}

test('a job that writes more than it may is killed, and no other', async (t) => {
  const { job, used, over, untilMeasured, untilLooked } = disk(t)
  job('one', 1000 * MB)
  job('two', 1000 * MB)
  await untilMeasured(2)
  used.set('one', 1500 * MB)
  await until(() => over.length > 0)
  await untilLooked(2)
  assert.deepEqual(over, ['one'])
})

test('folders are not measured while the disk cannot have lost enough', async (t) => {
  const { job, used, measures, over, untilMeasured, untilLooked } = disk(t)
  job('one', 10_000 * MB)
  await untilMeasured(1)
  const before = measures()
  for (let step = 1; step < 6; step++) {
    used.set('one', step * 1000 * MB)
    await untilLooked(1)
  }
  assert.deepEqual([measures() - before, over], [0, []])
})

test('no job is killed for what others write', async (t) => {
  const { job, writeElsewhere, measures, over, untilMeasured, untilLooked } = disk(t)
  job('one', 1000 * MB)
  await untilMeasured(1)
  const before = measures()
  writeElsewhere(5000 * MB)
  await until(() => measures() > before)
  await untilLooked(2)
  assert.deepEqual([measures() - before, over], [2, []])
})

test('what others remove does not hide what a job writes', async (t) => {
  const { job, used, writeElsewhere, over, untilMeasured, untilLooked } = disk(t)
  writeElsewhere(50_000 * MB)
  job('one', 1000 * MB)
  await untilMeasured(1)
  for (let step = 1; step < 4; step++) {
    used.set('one', step * 400 * MB)
    await untilLooked(1)
    writeElsewhere(-2000 * MB)
    await untilLooked(1)
  }
  await until(() => over.length > 0)
  assert.deepEqual(over, ['one'])
})

test('when the disk is nearly full, the job that wrote most since it began is killed, limit or not', async (t) => {
  const { job, used, over, untilMeasured, untilLooked } = disk(t)
  job('large from the beginning', null, 60_000 * MB)
  job('small', null)
  job('filler', null)
  await untilMeasured(3)
  used.set('small', 100 * MB)
  used.set('filler', 39_500 * MB)
  await until(() => over.length > 0)
  await untilLooked(2)
  assert.deepEqual(over, ['filler: fullDisk'])
})

test('when the disk is full without them, no job is killed', async (t) => {
  const { job, writeElsewhere, used, over, measures, untilMeasured, untilLooked } = disk(t)
  job('one', null, 100 * MB)
  await untilMeasured(1)
  const before = measures()
  used.set('one', 110 * MB)
  writeElsewhere(99_800 * MB)
  await until(() => measures() > before)
  await untilLooked(2)
  assert.deepEqual(over, [])
})

test('a job that uses up the inodes of the disk is killed', async (t) => {
  const { job, counts, over, untilMeasured, untilLooked } = disk(t)
  job('few', null)
  job('many', null)
  await untilMeasured(2)
  counts.set('few', 60_000)
  counts.set('many', 935_000)
  await until(() => over.length > 0)
  await untilLooked(2)
  assert.deepEqual(over, ['many: fullDisk'])
})

test('a job with more files than it may have is killed, even if they are empty', async (t) => {
  const { job, counts, over, untilMeasured } = disk(t)
  job('one', 1000 * MB, 0, 1000)
  job('two', 1000 * MB, 0, 1000)
  await untilMeasured(2)
  counts.set('one', 1500)
  await until(() => over.length > 0)
  assert.deepEqual(over, ['one: files'])
})

test('a job with more files than can be counted in time is killed', async (t) => {
  const { job, counts, endless, over, untilMeasured } = disk(t)
  job('one', 1000 * MB, 0, 1000)
  await untilMeasured(1)
  endless.add('one')
  counts.set('one', 1500)
  await until(() => over.length > 0)
  assert.deepEqual(over, ['one: files'])
})

test('a tree that du(1) cannot finish in time counts as infinitely large', async (t) => {
  const folder = await temporaryFolder(t)
  assert.equal(await sizeOf([folder], 'files'), 1)
  assert.equal(await sizeOf([folder, '/usr'], 'files', 1), Number.POSITIVE_INFINITY)
  assert.equal(await sizeOf([folder, '/usr'], 'bytes', 1), Number.POSITIVE_INFINITY)
  assert.equal(await sizeOf([`${folder}/none`], 'files'), undefined)
})

test('a job that has ended is not checked any more', async (t) => {
  const { job, used, over, untilMeasured, untilLooked } = disk(t)
  const stop = job('one', 1000 * MB)
  job('another', 1000 * MB)
  await untilMeasured(2)
  stop()
  used.set('one', 5000 * MB)
  await untilLooked(2)
  assert.deepEqual(over, [])
})
