import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keysIn, kvSuite, text } from '../../../test/suites/kv.ts'
import { openStoredValues as open } from '../../../test/support/object-store/values.ts'
import { StorageUnavailable, statement } from '../../storage/index.ts'
import { type Growth, nameOf } from '../kv.ts'

const LARGE = 10_000

kvSuite('rows and a bucket', open)

test('a small value is in its row alone, and a larger one in the bucket', async (t) => {
  const { values, ours, stored, sql } = await open(t)
  await values.put(ours, 'small', text('s', 2048))
  assert.deepEqual(stored(), [])
  await values.put(ours, 'large', text('l', 2049))
  assert.equal(stored().length, 1)
  const rows = await sql.query(statement`SELECT name, digest, body FROM kv_values ORDER BY bytes, digest`)
  const large = rows.find(({ name }) => name === nameOf('large'))
  assert.deepEqual([rows.length, large?.body, String(large?.digest).slice(0, 7)], [2, null, 'sha256:'])
})

test('another machine has the same values, and what it replaces is replaced for all', async (t) => {
  const { values, ours, start } = await open(t, { blocks: 100 })
  const other = await start()
  for (const length of [10, LARGE]) {
    await values.put(ours, 'a', text('a', length))
    assert.deepEqual(await other.get(ours, 'a'), text('a', length))
    await other.put(ours, 'a', text('b', length))
    assert.deepEqual(await values.get(ours, 'a'), text('b', length))
  }
})

test('two machines that write at once stay within the limit together, and lose no count', async (t) => {
  const { values, ours, start, sql } = await open(t, { blocks: 10 })
  const other = await start()
  const puts = Array.from({ length: 40 }, (_, number) =>
    (number % 2 ? values : other).put(ours, `key ${number % 25}`, text('x', number % 3 ? 10 : LARGE)),
  )
  await Promise.all(puts)
  const [sum] = await sql.query(statement`SELECT SUM(bytes) AS bytes, COUNT(*) AS files FROM kv_values`)
  const size = await values.sizeOf(ours)
  assert.deepEqual([Number(sum?.bytes), Number(sum?.files)], [size.bytes, size.files])
  assert.ok(size.bytes <= 10 * 4096 && size.bytes > 7 * 4096, `${size.bytes}`)
})

test('equal values of two environments are two blobs, and one that is replaced or does not fit any more is removed', async (t) => {
  const { values, ours, theirs, stored, clock } = await open(t, { blocks: 6 })
  for (const id of [ours, theirs]) await values.put(id, 'a', text('same', LARGE / 4))
  assert.equal(stored().length, 2)
  await values.put(ours, 'a', text('next', LARGE / 4))
  await values.settled()
  assert.equal(stored().length, 2)
  await clock.advance(1000)
  for (const key of 'bcd') await values.put(ours, key, text(key, LARGE))
  await values.settled()
  assert.equal(stored().length, 3, 'two of ours, and theirs')
  assert.deepEqual(await values.get(theirs, 'a'), text('same', LARGE / 4))
})

test('where many values go for a large one, the garbage collection removes what is left of them', async (t) => {
  const { server, values, ours, stored } = await open(t, { blocks: 100 })
  for (let number = 0; number < 100; number++) await values.put(ours, `key ${number}`, text('x', 3000))
  await values.put(ours, 'large', text('x', 99 * 4096))
  await values.settled()
  assert.ok(stored().length > 1)
  for (const object of server.objects.values()) object.time -= 60 * 60_000
  await values.collect()
  assert.equal(stored().length, 1)
  assert.deepEqual(await values.get(ours, 'large'), text('x', 99 * 4096))
})

test('a value costs one request to the store, and so does the one that it replaces', async (t) => {
  const { server, values, ours, theirs, emptyCache } = await open(t)
  const methods = () => server.seen.splice(0).map(({ method }) => method)
  // The first removal finds out whom the bucket belongs to.
  for (const letter of 'ab') await values.put(theirs, 'a', text(letter, LARGE))
  await values.settled()
  methods()
  await values.put(ours, 'a', text('a', LARGE))
  assert.deepEqual(methods(), ['PUT'])
  await values.put(ours, 'a', text('b', LARGE))
  await values.settled()
  assert.deepEqual(methods(), ['PUT', 'DELETE'])
  await emptyCache()
  for (const _ of [1, 2]) assert.deepEqual(await values.get(ours, 'a'), text('b', LARGE))
  assert.deepEqual(methods(), ['GET'])
})

test('while the store is away small values go on, larger ones fail in bounded time, and nothing is counted for them', async (t) => {
  const counted: Growth = { bytes: 0, files: 0 }
  const { server, values, ours, emptyCache } = await open(t, {
    blocks: 100,
    async admitGrowth(_, { bytes, files }) {
      counted.bytes += bytes
      counted.files += files
      return true
    },
  })
  await values.put(ours, 'large', text('l', LARGE))
  await values.put(ours, 'small', text('s'))
  await server.stop()
  assert.deepEqual(await values.get(ours, 'large'), text('l', LARGE), 'there is a copy')
  await emptyCache()
  await assert.rejects(values.get(ours, 'large'), StorageUnavailable)
  const before = { ...counted }
  await assert.rejects(values.put(ours, 'large', text('m', LARGE)), StorageUnavailable)
  await assert.rejects(values.put(ours, 'new', text('m', LARGE)), StorageUnavailable)
  assert.deepEqual(counted, before)
  await values.put(ours, 'small', text('t'))
  assert.deepEqual(await values.get(ours, 'small'), text('t'))
  await values.put(ours, 'large', text('now small'))
  await server.startAgain()
  assert.deepEqual(await values.get(ours, 'large'), text('now small'))
  await values.put(ours, 'new', text('m', LARGE))
  assert.deepEqual(await values.get(ours, 'new'), text('m', LARGE))
})

test('a value whose blob was deleted by others is not found, and takes no space', async (t) => {
  const { server, values, ours, emptyCache } = await open(t)
  await values.put(ours, 'a', text('a', LARGE))
  server.objects.clear()
  await emptyCache()
  assert.equal(await values.get(ours, 'a'), undefined)
  assert.deepEqual(await values.sizeOf(ours), { bytes: 0, files: 0 })
  await values.put(ours, 'a', text('b', LARGE))
  assert.deepEqual(await values.get(ours, 'a'), text('b', LARGE))
})

test('bytes that changed in the store are never returned, and a new value takes their place', async (t) => {
  const { server, values, ours, emptyCache } = await open(t)
  await values.put(ours, 'a', text('a', LARGE))
  await emptyCache()
  for (const [key, object] of server.objects) if (key.includes('/values/')) object.bytes = Buffer.from('forged')
  await assert.rejects(values.get(ours, 'a'), /has other bytes under values\//)
  await values.put(ours, 'a', text('b', LARGE))
  assert.deepEqual(await values.get(ours, 'a'), text('b', LARGE))
})

test('garbage collection removes what has no row, keeps what was just put, and nothing while a backup is made', async (t) => {
  const { server, values, blobs, ours, held, stored } = await open(t, { blocks: 100 })
  await values.put(ours, 'a', text('a', LARGE))
  const garbage = async function* () {
    yield text('left over')
  }
  await blobs.put(garbage())
  assert.equal(await values.collect(), 0)
  for (const object of server.objects.values()) object.time -= 60 * 60_000
  await values.put(ours, 'b', text('b', LARGE))
  held.isHeld = true
  assert.equal(await values.collect(), 0)
  held.isHeld = false
  assert.deepEqual([await values.collect(), stored().length], [1, 2])
  assert.equal(await keysIn(values, ours, 'ab'), 'ab')
})

test('with an environment its values go, and one that is written meanwhile leaves nothing', async (t) => {
  const { sql, environments, values, ours, theirs, stored } = await open(t)
  for (const id of [ours, theirs]) await values.put(id, 'a', text('a', LARGE))
  await sql.transaction((tx) => environments.remove(tx, ours))
  await values.put(ours, 'b', text('b', LARGE))
  await values.settled()
  assert.equal(stored().length, 2, 'the first waits for the garbage collection')
  assert.equal(await values.bytesOf(ours, 'a'), undefined)
  assert.deepEqual(await values.sizeOf(ours), { bytes: 0, files: 0 })
  assert.deepEqual(await values.get(theirs, 'a'), text('a', LARGE))
})

test('a read is noted at most once a minute', async (t) => {
  const { sql, clock, values, ours } = await open(t)
  const noted = async () => Number((await sql.query(statement`SELECT use_time FROM kv_values`))[0]?.use_time)
  await values.put(ours, 'a', text('a'))
  const first = clock.now()
  await clock.advance(59_999)
  await values.get(ours, 'a')
  assert.equal(await noted(), first)
  await clock.advance(1)
  await Promise.all([values.get(ours, 'a'), values.get(ours, 'a')])
  assert.equal(await noted(), first + 60_000)
})
