import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { handClock } from '../../../test/support/clock.ts'
import { LIMITS } from '../../contract/index.ts'
import { createRates, IN_APP_RATES } from './rates.ts'

test('so many calls are free at once, and then so many a second', async () => {
  const clock = handClock()
  const rates = createRates({ clock })
  const { atOnce, perSecond } = IN_APP_RATES.calls['apps-api']
  const callsUntilRefused = () => {
    for (let count = 0; ; count++) {
      try {
        rates.call('ours', 'apps-api')
      } catch (error) {
        assert.equal((error as { reason?: string }).reason, 'TOO_MANY_CALLS')
        return count
      }
    }
  }
  assert.equal(callsUntilRefused(), atOnce)
  await clock.advance(1000)
  assert.equal(callsUntilRefused(), perSecond)
  rates.call('theirs', 'apps-api')
  rates.call('ours', 'kv-store')
  await clock.advance(3_600_000)
  assert.equal(callsUntilRefused(), atOnce)
})

test('a call that is refused costs nothing', async () => {
  const clock = handClock()
  const rates = createRates({ clock })
  const { atOnce, perSecond } = IN_APP_RATES.calls['apps-api']
  for (let count = 0; count < atOnce; count++) rates.call('ours', 'apps-api')
  for (let count = 0; count < 10_000; count++) assert.throws(() => rates.call('ours', 'apps-api'))
  await clock.advance(1000 / perSecond)
  rates.call('ours', 'apps-api')
})

const caller = (environmentId: string, accountId = environmentId) => ({ environmentId, accountId })

test('bytes are held until they are given back, and given back once', () => {
  const heldBytes = { environment: 10, account: 10, all: 15 }
  const { hold } = createRates({ clock: handClock(), rates: { ...IN_APP_RATES, heldBytes } })
  const giveBack = hold(caller('ours'), 'kv-store', 10)
  assert.throws(() => hold(caller('ours'), 'kv-store', 1), { reason: 'TOO_MANY_CALLS', retryAfterSeconds: 1 })
  hold(caller('theirs'), 'kv-store', 5)
  assert.throws(() => hold(caller('others'), 'kv-store', 1))
  giveBack()
  giveBack()
  hold(caller('ours'), 'kv-store', 10)
  assert.throws(() => hold(caller('others'), 'kv-store', 1))
})

test('however many apps an account has, it leaves capacity for the apps of others', () => {
  const clock = handClock()
  const rates = createRates({ clock })
  for (let app = 0; app < 100; app++) {
    try {
      for (;;) rates.hold(caller(`app ${app}`, 'many'), 'kv-store', LIMITS.valueBytes)
    } catch (error) {
      assert.equal((error as { reason?: string }).reason, 'TOO_MANY_CALLS')
    }
  }
  rates.hold(caller('mine', 'other'), 'kv-store', LIMITS.valueBytes)
})

test('the apps of one account together call no more often than a few of them may', () => {
  const rates = createRates({ clock: handClock() })
  let count = 0
  for (let app = 0; app < 100; app++) {
    try {
      for (;;) {
        rates.call(`app ${app}`, 'kv-store')
        rates.callOfAccount('many', 'kv-store')
        count++
      }
    } catch (error) {
      assert.equal((error as { reason?: string }).reason, 'TOO_MANY_CALLS')
    }
  }
  assert.equal(count, IN_APP_RATES.accountShare * IN_APP_RATES.calls['kv-store'].atOnce)
  rates.callOfAccount('other', 'kv-store')
})

test('the largest value and the largest body are not too much by themselves', () => {
  assert.ok(IN_APP_RATES.bytes['kv-store'].atOnce >= LIMITS.valueBytes)
  assert.ok(IN_APP_RATES.bytes['apps-api'].atOnce >= LIMITS.bodyBytes)
  assert.ok(IN_APP_RATES.heldBytes.environment >= LIMITS.valueBytes)
})

test('the documentation has these numbers', async () => {
  const text = await readFile(new URL('../../../docs/reference/limits.md', import.meta.url), 'utf8')
  const { calls, bytes } = IN_APP_RATES
  const mib = (count: number) => `${count / 1024 / 1024} MiB`
  const inWords = [
    `${calls['apps-api'].atOnce} purges at once and then ${calls['apps-api'].perSecond} a second`,
    `${calls['kv-store'].atOnce.toLocaleString('en')} calls of the key-value store at once and then ${calls['kv-store'].perSecond} a second`,
    `${mib(bytes['kv-store'].atOnce)} at once and then ${mib(bytes['kv-store'].perSecond)} a second`,
  ]
  for (const words of inWords) assert.ok(text.replaceAll('\n', ' ').includes(words), words)
})
