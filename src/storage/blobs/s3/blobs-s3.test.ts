import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { blobsSuite } from '../../../../test/suites/blobs.ts'
import { temporaryFolder } from '../../../../test/support/folder.ts'
import { BUCKET, KEYS, type S3Server, startS3Server } from '../../../../test/support/object-store/s3-server.ts'
import { Secret } from '../../../base/index.ts'
import type { Digest } from '../blobs.ts'
import { openS3Blobs, type S3Options } from './blobs-s3.ts'
import { openCache } from './cache.ts'
import { TIMEOUTS } from './client.ts'

/** Long enough for a busy machine. */
const USUAL = { ...TIMEOUTS, idleMs: 2000, writeMs: 60_000, readMs: 60_000, pauseMs: 2 }
/** For a store that stays away. */
const SHORT = { ...USUAL, writeMs: 300, readMs: 300 }
const LARGE_BYTES = 20 * 1024 * 1024

type Changes = {
  folder?: string
  maxBytes?: number
  prefix?: string
  keyId?: string
  secret?: string
  region?: string
  isAway?: true
  owner?: string
}

async function openOn(t: TestContext, server: S3Server, changes: Changes = {}) {
  const { folder = await temporaryFolder(t), maxBytes = 1e9, prefix = 'team a/home', region = server.region } = changes
  const { keyId = KEYS.keyId, secret = KEYS.secret } = changes
  const options: S3Options = {
    bucket: {
      ...{ endpoint: new URL(server.endpoint), bucket: BUCKET, isPathStyle: true, region },
      ...{ keyId, secret: new Secret(secret) },
    },
    prefix,
    owner: changes.owner ?? 'service a',
    cache: { folder, maxBytes },
    timeouts: changes.isAway ? SHORT : USUAL,
  }
  const blobs = await openS3Blobs(options)
  t.after(blobs.close)
  return { blobs, folder }
}

async function setUp(t: TestContext, changes: Changes = {}) {
  const server = await startS3Server(t, { pageSize: 2 })
  return { server, ...(await openOn(t, server, changes)) }
}

const from = async function* (...chunks: Uint8Array[]) {
  yield* chunks
}
const hexOf = (digest: Digest): string => digest.slice('sha256:'.length)
const keyOf = (digest: Digest): string => `team a/home/blobs/${hexOf(digest).slice(0, 2)}/${hexOf(digest)}`
const isBlob = ({ key }: { key: string }): boolean => key.includes('/blobs/')
const copiesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true })).filter((name) => /^..\/[0-9a-f]{64}$/.test(name))

blobsSuite('a bucket', async (t) => (await setUp(t)).blobs)

test('a large blob goes in parts, and is read back by a process without a copy', async (t) => {
  const { server, blobs } = await setUp(t)
  const bytes = randomBytes(LARGE_BYTES)
  const { digest } = await blobs.put(from(bytes))
  // A part may be sent twice, if the machine is so busy that no answer comes in time.
  const numbers = new Set(server.seen.map(({ query }) => query.get('partNumber')).filter(Boolean))
  assert.deepEqual([...numbers].sort(), ['1', '2', '3'])
  const { blobs: other } = await openOn(t, server)
  assert.ok((await buffer(await other.open(digest))).equals(bytes))
})

test('a large blob that is there already is not sent again', async (t) => {
  const { server, blobs } = await setUp(t)
  const bytes = randomBytes(LARGE_BYTES)
  await blobs.put(from(bytes))
  const before = server.seen.filter(({ query }) => query.has('partNumber')).length
  await blobs.put(from(bytes))
  assert.equal(server.seen.filter(({ query }) => query.has('partNumber')).length, before)
})

test('a part that fails is sent again by itself', async (t) => {
  const { server, blobs } = await setUp(t)
  const isSecond = ({ query }: { query: URLSearchParams }) => query.get('partNumber') === '2'
  server.fail({ kind: 'status', status: 503, code: 'SlowDown' }, isSecond)
  server.fail({ kind: 'reset' }, isSecond)
  const { digest } = await blobs.put(from(randomBytes(LARGE_BYTES)))
  const numbers = server.seen.map(({ query }) => query.get('partNumber')).filter(Boolean)
  assert.deepEqual(numbers.toSorted(), ['1', '2', '2', '2', '3'])
  assert.equal(
    createHash('sha256')
      .update(server.objects.get(keyOf(digest))?.bytes ?? '')
      .digest('hex'),
    hexOf(digest),
  )
})

test('an upload in parts that cannot be ended is aborted, and leaves nothing', async (t) => {
  const { server, blobs, folder } = await setUp(t, { isAway: true })
  server.fail({ kind: 'status', status: 500, code: 'InternalError' }, ({ query }) => query.has('partNumber'), 1000)
  await assert.rejects(blobs.put(from(randomBytes(LARGE_BYTES))), { name: 'ObjectStoreFault', code: 'InternalError' })
  assert.equal(server.uploads.size, 0)
  assert.deepEqual(await readdir(join(folder, 'aside')), [])
})

test('a lost answer to the end of an upload in parts does no harm', async (t) => {
  const { server, blobs } = await setUp(t)
  const isEnd = ({ method, query }: { method: string; query: URLSearchParams }) =>
    method === 'POST' && query.has('uploadId')
  server.fail({ kind: 'lost answer' }, isEnd)
  const bytes = randomBytes(LARGE_BYTES)
  const { digest } = await blobs.put(from(bytes))
  assert.ok(server.objects.get(keyOf(digest))?.bytes.equals(bytes))
})

test('parts of a process that died are removed by a sweep, and younger ones are not', async (t) => {
  const { server, blobs } = await setUp(t)
  const hour = 60 * 60 * 1000
  for (const [id, age] of Object.entries({ old1: 3, old2: 2, young: 0.5 }))
    server.uploads.set(id, { key: 'team a/home/blobs/aa/x', time: Date.now() - age * hour, parts: new Map() })
  await blobs.sweep()
  assert.deepEqual([...server.uploads.keys()], ['young'])
})

test('a blob is written only if it is not there', async (t) => {
  const { server, blobs } = await setUp(t)
  await blobs.put(from(Buffer.from('once')))
  const writes = server.seen.filter((request) => request.method === 'PUT' && isBlob(request))
  assert.deepEqual(
    writes.map(({ headers }) => headers['if-none-match']),
    ['*'],
  )
})

test('a store that does not know conditional writes is written to without', async (t) => {
  const { server, blobs } = await setUp(t)
  server.forgetConditions()
  const { digest } = await blobs.put(from(Buffer.from('once')))
  assert.deepEqual(await blobs.list(), [digest])
})

test('a wrong byte on the way is fetched again', async (t) => {
  const { server, blobs } = await setUp(t)
  const bytes = randomBytes(100_000)
  const { digest } = await blobs.put(from(bytes))
  const { blobs: other } = await openOn(t, server)
  server.fail({ kind: 'flip' }, isBlob)
  assert.ok((await buffer(await other.open(digest))).equals(bytes))
})

test('wrong bytes in the store are never handed out', async (t) => {
  const { server, blobs } = await setUp(t)
  const { digest } = await blobs.put(from(randomBytes(100_000)))
  const { blobs: other, folder } = await openOn(t, server)
  server.fail({ kind: 'flip' }, isBlob, 2)
  await assert.rejects(other.open(digest), { name: 'ObjectDamaged', message: /other bytes under blobs\// })
  assert.deepEqual(await copiesIn(folder), [])
})

test('a blob that was found damaged is replaced when it is put again', async (t) => {
  const { server, blobs } = await setUp(t)
  const bytes = randomBytes(1000)
  const { digest } = await blobs.put(from(bytes))
  const stored = server.objects.get(keyOf(digest))
  if (stored) stored.bytes = randomBytes(1000)
  const { blobs: other } = await openOn(t, server)
  await assert.rejects(other.open(digest), { name: 'ObjectDamaged' })
  await other.put(from(bytes))
  assert.ok(server.objects.get(keyOf(digest))?.bytes.equals(bytes))
})

test('an answer that breaks off is made good with the rest', async (t) => {
  const { server, blobs } = await setUp(t)
  const bytes = randomBytes(1_000_000)
  const { digest } = await blobs.put(from(bytes))
  const { blobs: other } = await openOn(t, server)
  server.fail({ kind: 'cut' }, isBlob, 3)
  assert.ok((await buffer(await other.open(digest))).equals(bytes))
  assert.ok(server.seen.filter((request) => isBlob(request) && request.headers.range !== undefined).length >= 1)
})

test('a request that gets no answer is sent again', async (t) => {
  const { server, blobs } = await setUp(t)
  server.fail({ kind: 'hang' }, isBlob)
  const { digest } = await blobs.put(from(Buffer.from('slow')))
  assert.equal(await blobs.has(digest), true)
})

test('a pause that the store asks for is made', async (t) => {
  const { server, blobs } = await setUp(t)
  server.fail({ kind: 'status', status: 503, code: 'SlowDown', retryAfter: 0 }, isBlob, 3)
  assert.ok(await blobs.put(from(Buffer.from('slow'))))
  server.fail({ kind: 'status', status: 503, code: 'SlowDown', retryAfter: 3600 }, isBlob)
  const refused = { code: 'SlowDown', retryAfterMs: 3_600_000 }
  await assert.rejects(blobs.put(from(Buffer.from('slower'))), refused)
})

test('a store that stays away is StorageUnavailable, after a bounded number of attempts', async (t) => {
  const { server, blobs } = await setUp(t, { isAway: true })
  server.fail({ kind: 'status', status: 503, code: 'SlowDown' }, () => true, 1e6)
  const { StorageUnavailable } = await import('../../sql/sql.ts')
  await assert.rejects(blobs.put(from(Buffer.from('x'))), StorageUnavailable)
  assert.ok(server.seen.length > 2 && server.seen.length < 100, `${server.seen.length} requests`)
})

test('a store that refuses connections is StorageUnavailable, and is used again when it is back', async (t) => {
  const { server, blobs } = await setUp(t, { isAway: true })
  await server.stop()
  await assert.rejects(blobs.put(from(Buffer.from('x'))), { name: 'ObjectStoreFault', code: 'ECONNREFUSED' })
  await server.startAgain()
  await blobs.put(from(Buffer.from('x')))
})

const REFUSALS: Record<string, { changes: Changes; words: RegExp }> = {
  'a wrong key id': { changes: { keyId: 'AKIAOTHER' }, words: /\(InvalidAccessKeyId\)\. Check objectStoreKeyId/ },
  'a wrong secret': { changes: { secret: 'wrong' }, words: /\(SignatureDoesNotMatch\)\. Check objectStoreKeyId/ },
  'a wrong region': { changes: { region: 'us-east-1' }, words: /in another region .* Set objectStoreRegion/ },
}

for (const [what, { changes, words }] of Object.entries(REFUSALS)) {
  test(`${what} is reported at once, in words that say what to do`, async (t) => {
    const { server, blobs } = await setUp(t, changes)
    await assert.rejects(blobs.put(from(Buffer.from('x'))), (error: Error) => {
      assert.match(error.message, words)
      assert.ok(!JSON.stringify([error.message, error.stack]).includes(changes.secret ?? KEYS.secret))
      return true
    })
    assert.equal(server.seen.length, 1)
  })
}

test('a clock that is wrong is reported with the difference', async (t) => {
  const { server, blobs } = await setUp(t)
  server.setSkew(60 * 60 * 1000)
  await assert.rejects(
    blobs.put(from(Buffer.from('x'))),
    /differ by 3,(599|600|601) seconds \(RequestTimeTooSkewed\)\. Set the clock of this machine/,
  )
})

test('the time of a blob is judged by the clock of the store alone', async (t) => {
  const { server, blobs } = await setUp(t)
  server.setSkew(-10 * 60 * 1000)
  const { digest } = await blobs.put(from(Buffer.from('x')))
  assert.equal(await blobs.remove(digest, { putSince: Date.now() - 60_000 }), false)
})

test('what is put again counts as put now', async (t) => {
  const { server, blobs } = await setUp(t)
  const { digest } = await blobs.put(from(Buffer.from('x')))
  for (const stored of server.objects.values()) stored.time -= 2 * 60 * 60 * 1000
  await blobs.put(from(Buffer.from('x')))
  assert.equal(await blobs.remove(digest, { putSince: Date.now() - 60_000 }), false)
  for (const stored of server.objects.values()) stored.time -= 2 * 60 * 60 * 1000
  assert.equal(await blobs.remove(digest, { putSince: Date.now() - 60_000 }), true)
  assert.deepEqual([...server.objects.keys()], ['team a/home/owner'])
})

test('a blob that one process puts while another removes it is there afterwards', async (t) => {
  const { server, blobs } = await setUp(t)
  const { blobs: other } = await openOn(t, server)
  const { digest } = await blobs.put(from(Buffer.from('x')))
  for (let round = 0; round < 20; round += 1) {
    for (const stored of server.objects.values()) stored.time -= 2 * 60 * 60 * 1000
    server.fail({ kind: 'delay', ms: round % 5 }, ({ method }) => method === 'DELETE', 1)
    await Promise.all([blobs.put(from(Buffer.from('x'))), other.remove(digest, { putSince: Date.now() - 60_000 })])
    assert.equal(await blobs.has(digest), true, `round ${round}`)
  }
})

test('a copy answers without the store', async (t) => {
  const { server, blobs } = await setUp(t)
  const bytes = randomBytes(1000)
  const { digest } = await blobs.put(from(bytes))
  await server.stop()
  assert.deepEqual(await blobs.withFile(digest, (file) => readFile(file)), bytes)
})

test('copies stay within the bound, and those that were not used for longest go first', async (t) => {
  const { blobs, folder } = await setUp(t, { maxBytes: 3000 })
  const first = await blobs.put(from(randomBytes(1000)))
  const second = await blobs.put(from(randomBytes(1000)))
  const third = await blobs.put(from(randomBytes(1000)))
  const hex = (blob: { digest: Digest }) => `${hexOf(blob.digest).slice(0, 2)}/${hexOf(blob.digest)}`
  const longAgo = new Date(Date.now() - 60_000)
  await utimes(join(folder, hex(first)), longAgo, longAgo)
  await new Promise((resolve) => setTimeout(resolve, 5))
  await blobs.withFile(first.digest, async () => undefined)
  await new Promise((resolve) => setTimeout(resolve, 5))
  const fourth = await blobs.put(from(randomBytes(1000)))
  assert.deepEqual((await copiesIn(folder)).toSorted(), [first, third, fourth].map(hex).toSorted())
  assert.equal((await buffer(await blobs.open(second.digest))).length, 1000)
})

test('the number of copies is bounded too', async (t) => {
  const folder = await temporaryFolder(t)
  const digests = Array.from({ length: 5 }, (_, at): Digest => `sha256:${String(at).repeat(64)}`)
  const cache = await openCache(folder, 1e9, 3)
  for (const digest of digests.slice(0, 3)) {
    const draft = cache.draft()
    await writeFile(draft, digest)
    await cache.add(draft, digest, digest.length)
  }
  await (await cache.borrow(digests[0] as Digest))?.release()
  const draft = cache.draft()
  await writeFile(draft, 'x')
  await cache.add(draft, digests[3] as Digest, 1)
  const has = async (digest: Digest) => (await cache.borrow(digest)) !== undefined
  assert.deepEqual(await Promise.all(digests.map(has)), [true, false, true, true, false])
  assert.equal(cache.bytes(), 2 * (digests[0] as Digest).length + 1)
})

test('a copy in use is not removed, and one that is larger than the bound is there while it is used', async (t) => {
  const { blobs, folder } = await setUp(t, { maxBytes: 1500 })
  const bytes = randomBytes(5000)
  const { digest } = await blobs.put(from(bytes))
  assert.deepEqual(await copiesIn(folder), [])
  await blobs.withFile(digest, async (file) => {
    await blobs.put(from(randomBytes(1000)))
    await blobs.put(from(randomBytes(1400)))
    assert.deepEqual(await readFile(file), bytes)
    assert.ok((await copiesIn(folder)).some((name) => name.endsWith(hexOf(digest))))
  })
  assert.ok(!(await copiesIn(folder)).some((name) => name.endsWith(hexOf(digest))))
})

test('copies survive a restart, in the order of their use', async (t) => {
  const { server, blobs, folder } = await setUp(t)
  const [older, newer] = [await blobs.put(from(randomBytes(1000))), await blobs.put(from(randomBytes(1000)))]
  const aMinuteAgo = new Date(Date.now() - 60_000)
  await utimes(join(folder, hexOf(older.digest).slice(0, 2), hexOf(older.digest)), aMinuteAgo, aMinuteAgo)
  const { blobs: next } = await openOn(t, server, { folder, maxBytes: 1500 })
  assert.deepEqual(
    (await copiesIn(folder)).map((name) => name.slice(3)),
    [hexOf(newer.digest)],
  )
  await server.stop()
  assert.equal((await buffer(await next.open(newer.digest))).length, 1000)
})

const SPOILERS: Record<string, (file: string) => Promise<void>> = {
  'cut short': (file) => truncate(file, 10),
  'full of other bytes': (file) => writeFile(file, randomBytes(1000)),
}

for (const [what, spoil] of Object.entries(SPOILERS)) {
  test(`a copy that a crash left ${what} is fetched anew`, async (t) => {
    const { server, blobs, folder } = await setUp(t)
    const bytes = randomBytes(1000)
    const { digest } = await blobs.put(from(bytes))
    await spoil(join(folder, hexOf(digest).slice(0, 2), hexOf(digest)))
    const { blobs: next } = await openOn(t, server, { folder })
    assert.deepEqual(await next.withFile(digest, (file) => readFile(file)), bytes)
  })
}

test('all who want a blob at once wait for one download', async (t) => {
  const { server, blobs } = await setUp(t)
  const { digest } = await blobs.put(from(randomBytes(1000)))
  const { blobs: other } = await openOn(t, server)
  const before = server.seen.length
  await Promise.all(Array.from({ length: 8 }, () => other.withFile(digest, (file) => stat(file))))
  assert.equal(server.seen.length - before, 1)
})

test('a list has every blob, on however many pages', async (t) => {
  const { blobs } = await setUp(t)
  const put = await Promise.all(Array.from({ length: 7 }, () => blobs.put(from(randomBytes(10)))))
  assert.deepEqual((await blobs.list()).toSorted(), put.map(({ digest }) => digest).toSorted())
})

test('a service removes and lists nothing below the prefix of another one', async (t) => {
  const { server, blobs } = await setUp(t)
  const { digest } = await blobs.put(from(Buffer.from('x')))
  assert.deepEqual(await blobs.list(), [digest])
  const { blobs: other } = await openOn(t, server, { owner: 'service b' })
  const words = /belongs to another service, whose master key is service a\. Choose another prefix/
  for (const refused of [other.list(), other.remove(digest), other.sweep()]) await assert.rejects(refused, words)
  assert.equal(await blobs.has(digest), true)
})

test('of two services that come to a prefix at once, one has it', async (t) => {
  const server = await startS3Server(t)
  const both = await Promise.all(['a', 'b'].map((owner) => openOn(t, server, { owner })))
  const ended = await Promise.allSettled(both.map(({ blobs }) => blobs.list()))
  assert.deepEqual(ended.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
})
