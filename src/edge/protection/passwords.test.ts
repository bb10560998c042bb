import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quickPasswordHash } from '../../../test/support/quick-password.ts'
import { makePasswordHash } from '../../passwords/index.ts'
import { LIMITS } from '../limits.ts'
import { createPasswords } from './passwords.ts'

const RIGHT = 'correct horse'
let hash = quickPasswordHash(RIGHT)

function setUp(limits: Partial<typeof LIMITS> = {}) {
  let nowMs = 1_000_000
  const passwords = createPasswords({ limits: { ...LIMITS, ...limits }, now: () => nowMs })
  return {
    check: (password: string, { client = 'c1', environment = 'e1' } = {}) =>
      passwords.check({ environment, hash, password, client }),
    pass(ms: number) {
      nowMs += ms
    },
  }
}

const FEW = { atOnce: 2, perSecond: 1 / 10 }
const MANY = { atOnce: 1000, perSecond: 1000 }

test('the right password is right, and others are wrong', async () => {
  const { check } = setUp()
  assert.equal(await check(RIGHT), 'right')
  for (const wrong of ['', 'correct', `${RIGHT} `, RIGHT.toUpperCase()]) assert.equal(await check(wrong), 'wrong')
})

test('a password in another form of Unicode is the same', async () => {
  const composed = await makePasswordHash('caf\u00e9 au lait')
  const passwords = createPasswords({ limits: LIMITS, now: () => 0 })
  const attempt = { environment: 'e1', hash: composed, password: 'cafe\u0301 au lait', client: 'c1' }
  assert.equal(await passwords.check(attempt), 'right')
})

test('wrong passwords of one client are limited over all environments, until time has passed', async () => {
  const { check, pass } = setUp({ unlockTriesOfClient: FEW })
  assert.equal(await check('a'), 'wrong')
  assert.equal(await check('b', { environment: 'e2' }), 'wrong')
  assert.deepEqual(await check('c', { environment: 'e3' }), { retryAfterSeconds: 10 })
  // Not even the right one is compared.
  assert.deepEqual(await check(RIGHT), { retryAfterSeconds: 10 })
  assert.equal(await check('c', { client: 'c2' }), 'wrong')
  pass(10_000)
  assert.equal(await check(RIGHT), 'right')
})

test('wrong passwords for one environment are limited over all clients', async () => {
  const { check } = setUp({ unlockTriesOfEnvironment: FEW })
  assert.equal(await check('a', { client: 'c1' }), 'wrong')
  assert.equal(await check('b', { client: 'c2' }), 'wrong')
  assert.deepEqual(await check('c', { client: 'c3' }), { retryAfterSeconds: 10 })
  assert.equal(await check('c', { client: 'c3', environment: 'e2' }), 'wrong')
})

test('right passwords do not count: many visitors may share one address', async () => {
  const { check } = setUp({ unlockTriesOfClient: FEW, rememberedPasswords: 0 })
  for (let visitors = 0; visitors < 5; visitors++) assert.equal(await check(RIGHT), 'right')
})

test('a right password is compared once, and remembered for its environment and hash only', async () => {
  const { check, pass } = setUp({ unlockTriesOfClient: FEW })
  assert.equal(await check(RIGHT), 'right')
  assert.equal(await check('a'), 'wrong')
  assert.equal(await check('b'), 'wrong')
  // Nothing may be compared now, and the remembered one is known all the same.
  assert.equal(await check(RIGHT), 'right')
  assert.deepEqual(await check(RIGHT, { environment: 'e2' }), { retryAfterSeconds: 10 })
  pass(60_000)
  hash = quickPasswordHash('another')
  assert.equal(await check(RIGHT), 'wrong')
  hash = quickPasswordHash(RIGHT)
})

test('few comparisons wait, and few of one environment; the others are told to come again', async () => {
  const { check } = setUp({
    unlockTriesOfClient: MANY,
    unlocksWaiting: 3,
    unlocksWaitingPerEnvironment: 2,
    unlockRetrySeconds: 5,
  })
  const asked = ['a', 'b', 'c'].map((password) => check(password))
  const others = ['d', 'e'].map((password) => check(password, { environment: 'e2' }))
  const third = check('f', { environment: 'e3' })
  const crowded = { retryAfterSeconds: 5 }
  assert.deepEqual(await Promise.all(asked), ['wrong', 'wrong', crowded])
  assert.deepEqual(await Promise.all(others), ['wrong', crowded])
  // One place is reserved for every environment.
  assert.equal(await third, 'wrong')
  assert.equal(await check('g'), 'wrong')
})

test('one password that is sent many times at once is compared once, and counts once', async () => {
  const { check } = setUp({ unlockTriesOfClient: FEW, unlocksWaiting: 1, unlocksWaitingPerEnvironment: 1 })
  const many = (password: string) => Promise.all(Array.from({ length: 20 }, () => check(password)))
  assert.deepEqual(new Set(await many('wrong')), new Set(['wrong']))
  assert.deepEqual(new Set(await many(RIGHT)), new Set(['right']))
  assert.equal(await check('another'), 'wrong')
  assert.deepEqual(await check('and another'), { retryAfterSeconds: 10 })
})

test('a password that no environment can have is wrong without a comparison', async () => {
  const { check } = setUp({ unlocksWaiting: 0, unlocksWaitingPerEnvironment: 0 })
  assert.equal(await check('x'.repeat(LIMITS.unlockPasswordLength + 1)), 'wrong')
})
