import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { handClock } from '../../../test/support/clock.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { createLineLogs } from './line-log.ts'
import { costOf, LINE_BYTES, OUTPUT_RATES, PAUSE_MS } from './output-rate.ts'

const CHUNK = Buffer.from(`${'x'.repeat(1023)}\n`.repeat(64))
const CHUNK_COST = CHUNK.length + 64 * LINE_BYTES

async function setUp(t: TestContext, whenFull: 'stop' | 'rotate') {
  const clock = handClock()
  const logs = createLineLogs(await temporaryFolder(t), { clock })
  const log = await logs.create('log', { secrets: ['hunter2'], whenFull, maxBytes: 64 * 1024 ** 2 })
  const texts = async () => (await logs.read('log', 0)).map(({ text }) => text)
  return { clock, log, texts }
}

/** A program that writes as fast as it is read: how many bytes it writes, and their cost. */
async function flood(t: TestContext, whenFull: 'stop' | 'rotate', seconds: number) {
  const { clock, log, texts } = await setUp(t, whenFull)
  let bytes = 0
  for (let second = 0; second < seconds; second++) {
    for (;;) {
      const waiting = log.write('stdout', '', CHUNK)
      bytes += CHUNK.length
      if (!waiting) continue
      let isOver = false
      waiting.then(() => {
        isOver = true
      })
      await clock.advance(100)
      while (!isOver) await clock.advance(100)
      break
    }
  }
  return { clock, log, texts, bytes, cost: (bytes / CHUNK.length) * CHUNK_COST }
}

test('many short lines count for more than one long line', () => {
  assert.equal(costOf(Buffer.from('x'.repeat(2000))), 2000)
  assert.equal(costOf(Buffer.from('\n'.repeat(2000))), 2000 + 2000 * LINE_BYTES)
})

test('a build that floods its log waits, and no line of it is lost', async (t) => {
  const { clock, log, texts, bytes, cost } = await flood(t, 'stop', 20)
  const passedSeconds = (clock.now() - handClock().now()) / 1000
  const { atOnce, perSecond } = OUTPUT_RATES.build
  assert.ok(cost <= atOnce + perSecond * passedSeconds + 2 * CHUNK_COST, `${cost} bytes in ${passedSeconds} s`)
  log.write('stderr', '', Buffer.from('Error: at the very end\n'))
  await log.close()
  const lines = await texts()
  assert.equal(lines.at(-1), 'Error: at the very end')
  assert.equal(lines.length, bytes / 1024 + 1)
})

test('an app that floods its log does not wait at first; the excess is left out and reported once', async (t) => {
  const { clock, log, texts } = await setUp(t, 'rotate')
  const { atOnce } = OUTPUT_RATES.app
  const max = Math.floor(atOnce / CHUNK_COST)
  const chunks = 3 * max
  for (let chunk = 0; chunk < chunks; chunk++) assert.equal(log.write('stdout', '', CHUNK), undefined)
  // In the middle of a line, the rest of which may be part of a secret.
  log.write('stdout', '', Buffer.from('hun'))
  await clock.advance(PAUSE_MS)
  log.write('stdout', '', Buffer.from('ter2\nafter the flood\n'))
  await log.close()
  const lines = await texts()
  assert.equal(lines.filter((line) => line.startsWith('x')).length, max * 64)
  assert.deepEqual(
    lines.filter((line) => !line.startsWith('x')),
    [
      '… 6.4 MB of output left out: more than 4.0 MB at once, and then 256 KB a second. Write less, or to a file.',
      'after the flood',
    ],
  )
})

test('an app that floods its log without end is read no faster than this, and next to nothing of it is cleaned', async (t) => {
  const { clock, log, texts, cost } = await flood(t, 'rotate', 40)
  const passedSeconds = (clock.now() - handClock().now()) / 1000
  const { read, app } = OUTPUT_RATES
  assert.ok(cost <= read.atOnce + read.perSecond * passedSeconds + 2 * CHUNK_COST, `${cost} bytes`)
  await log.close()
  const lines = await texts()
  const keptBytes = lines.filter((line) => line.startsWith('x')).length * 1024
  assert.ok(keptBytes <= app.atOnce + app.perSecond * (passedSeconds + 1), `${keptBytes} bytes`)
  const notices = lines.filter((line) => line.includes('left out'))
  assert.ok(notices.length >= 1 && notices.length <= passedSeconds / (PAUSE_MS / 1000) + 1, `${notices.length} times`)
})

test('a clock that is set back does not silence a log', async (t) => {
  let now = 1_700_000_000_000
  const clock = { ...handClock(), now: () => now }
  const logs = createLineLogs(await temporaryFolder(t), { clock })
  const log = await logs.create('log', { secrets: [], whenFull: 'rotate', maxBytes: 1e6 })
  log.write('stdout', '', Buffer.from('before\n'))
  now -= 3_600_000
  assert.equal(log.write('stdout', '', Buffer.from('after\n')), undefined)
  now += 60_000
  assert.equal(log.write('stdout', '', Buffer.from('and on\n')), undefined)
  await log.close()
  assert.deepEqual(
    (await logs.read('log', 0)).map(({ text }) => text).filter((text) => !text.includes('left out')),
    ['before', 'after', 'and on'],
  )
})
