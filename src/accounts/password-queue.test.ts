import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPasswordQueue, type Kind, PASSWORD_QUEUE, type Turn } from './password-queue.ts'

/** Hashes that end when the test says so, and the order in which they began. */
function openQueue(limits = PASSWORD_QUEUE) {
  const queue = createPasswordQueue(limits)
  const began: string[] = []
  const ends: (() => void)[] = []
  let atOnce = 0
  let maxAtOnce = 0
  const enter = (client: string, kind: Kind): Promise<void> =>
    queue.admit({ client, kind }, (turn: Turn) =>
      turn(async () => {
        began.push(client)
        maxAtOnce = Math.max(maxAtOnce, ++atOnce)
        await new Promise<void>((resolve) => ends.push(resolve))
        atOnce--
      }),
    )
  const endAll = async () => {
    for (let idle = 0; idle < 20; idle++) {
      const end = ends.shift()
      if (end) idle = 0
      end?.()
      await new Promise(setImmediate)
    }
  }
  return { queue, enter, endAll, began, maxAtOnce: () => maxAtOnce }
}

const refusals = async (entered: Promise<void>[]): Promise<string[]> =>
  (await Promise.allSettled(entered)).flatMap((one) => (one.status === 'rejected' ? one.reason.reason : []))

test('however many networks guess at once, only so many passwords wait, and one is hashed at a time', async () => {
  const { enter, endAll, maxAtOnce, began } = openQueue()
  const entered = refusals(Array.from({ length: 10_000 }, (_, index) => enter(`network ${index}`, 'unknown')))
  await endAll()
  const refused = await entered
  assert.equal(began.length, PASSWORD_QUEUE.places.unknown)
  assert.equal(refused.length, 10_000 - PASSWORD_QUEUE.places.unknown)
  assert.deepEqual([...new Set(refused)], ['PASSWORDS_BUSY'])
  assert.equal(maxAtOnce(), 1)
})

test('one network takes a share of the queue, and is refused more', async () => {
  const { enter, endAll, began } = openQueue()
  const flood = refusals(Array.from({ length: 100 }, () => enter('flood', 'unknown')))
  const other = enter('other', 'unknown')
  await endAll()
  await other
  assert.deepEqual([...new Set(await flood)], ['TOO_MANY_LOG_INS'])
  assert.equal(began.filter((client) => client === 'flood').length, PASSWORD_QUEUE.placesOfClient)
})

test('unknown clients who fill the queue neither keep known users out nor delay them', async () => {
  const { enter, endAll, began } = openQueue()
  const flood = refusals(Array.from({ length: 1000 }, (_, index) => enter(`network ${index}`, 'unknown')))
  const known = enter('home', 'known')
  await endAll()
  await known
  await flood
  assert.ok(began.indexOf('home') <= 2, `after ${began.indexOf('home')} others`)
})

test('known users who come without end leave unknown clients every second turn', async () => {
  const { enter, endAll, began } = openQueue()
  const flood = refusals(Array.from({ length: 1000 }, (_, index) => enter(`home ${index}`, 'known')))
  const unknown = enter('unknown', 'unknown')
  await endAll()
  await unknown
  await flood
  assert.ok(began.indexOf('unknown') <= 2, `after ${began.indexOf('unknown')} others`)
})

test('the client with one in the queue is not behind all of another that has many', async () => {
  const { enter, endAll, began } = openQueue()
  const all = [...Array.from({ length: 8 }, () => enter('many', 'unknown')), enter('single', 'unknown')]
  await endAll()
  await Promise.all(all)
  assert.ok(began.indexOf('single') <= 2, began.join(' '))
})

test('a place is free again however the work ends', async () => {
  const { queue } = openQueue({ places: { known: 1, unknown: 1 }, placesOfClient: 1 })
  const guest = { client: 'a', kind: 'unknown' } as const
  for (let times = 0; times < 3; times++) {
    await assert.rejects(
      queue.admit(guest, (turn) => turn(() => Promise.reject(new Error('of the hash')))),
      /of the hash/,
    )
    await assert.rejects(
      queue.admit(guest, () => Promise.reject(new Error('before it'))),
      /before it/,
    )
    assert.equal(await queue.admit(guest, (turn) => turn(async () => 'done')), 'done')
  }
})

test('a refused client gets the time to retry', async () => {
  const { queue } = openQueue({ places: { known: 1, unknown: 1 }, placesOfClient: 1 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = queue.admit({ client: 'a', kind: 'known' }, () => promise)
  for (const client of ['a', 'b']) {
    const refused = await queue
      .admit({ client, kind: 'known' }, async () => undefined)
      .then(
        () => assert.fail('was admitted'),
        (error) => error,
      )
    assert.ok(refused.retryAfterSeconds >= 1)
  }
  resolve()
  await held
})
