/**
 * What Headland relies on in a store that has the API of S3, and what the small server of the tests must do as a real one
 * does.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { suite, type TestContext, test } from 'node:test'
import { Secret } from '../../src/base/index.ts'
import { type Bucket, createClient, TIMEOUTS } from '../../src/storage/blobs/s3/client.ts'
import { createObjects } from '../../src/storage/blobs/s3/objects.ts'

export type Store = { endpoint: string; region: string; bucket: string; keyId: string; secret: string }

const PART_BYTES = 5 * 1024 * 1024
let prefixes = 0

export function objectStoreSuite(name: string, storeOf: (t: TestContext) => Promise<Store>) {
  async function open(t: TestContext, changes: Partial<Store & Pick<Bucket, 'now'>> = {}) {
    const { endpoint, secret, ...bucket } = { ...(await storeOf(t)), ...changes }
    const timeouts = { ...TIMEOUTS, writeMs: 30_000, readMs: 30_000 }
    const client = createClient(
      { ...bucket, endpoint: new URL(endpoint), secret: new Secret(secret), isPathStyle: true },
      timeouts,
    )
    t.after(client.close)
    return createObjects(client, `suite/${++prefixes} ~é+&`)
  }

  const read = async (found: { bytes: AsyncIterable<Buffer> } | undefined) =>
    found && (await buffer(Readable.from(found.bytes)))

  suite(`${name} as an object store`, () => {
    test('an object is read back, whole and from a place on', async (t) => {
      const objects = await open(t)
      const bytes = randomBytes(100_000)
      await objects.put('a/b', bytes)
      assert.deepEqual(await read(await objects.get('a/b')), bytes)
      const rest = await objects.get('a/b', { from: 99_990 })
      assert.equal(rest?.from, 99_990)
      assert.deepEqual(await read(rest), bytes.subarray(99_990))
      assert.equal((await objects.head('a/b'))?.bytes, 100_000)
    })

    test('an object that is not there is undefined, and removing it is no error', async (t) => {
      const objects = await open(t)
      assert.deepEqual([await objects.get('none'), await objects.head('none')], [undefined, undefined])
      await objects.remove('none')
    })

    test('an object that is there is not written again', async (t) => {
      const objects = await open(t)
      await objects.put('a', Buffer.from('first'), { isOnce: true })
      await objects.put('a', Buffer.from('second'), { isOnce: true })
      assert.equal(String(await read(await objects.get('a'))), 'first')
      await objects.put('a', Buffer.from('third'))
      assert.equal(String(await read(await objects.get('a'))), 'third')
    })

    test('names are listed below a prefix, with their age', async (t) => {
      const objects = await open(t)
      for (const name of ['x/1', 'x/2 &', 'y/1']) await objects.put(name, Buffer.alloc(0))
      const found = await objects.list('x/')
      assert.deepEqual(found.map(({ name }) => name).toSorted(), ['x/1', 'x/2 &'])
      assert.ok(found.every(({ ageMs }) => ageMs >= 0 && ageMs < 60_000))
    })

    test('parts become an object when they are all there', async (t) => {
      const objects = await open(t)
      const bytes = randomBytes(PART_BYTES + 1000)
      const uploadId = await objects.startUpload('large')
      const second = await objects.putPart('large', uploadId, 2, bytes.subarray(PART_BYTES))
      const first = await objects.putPart('large', uploadId, 1, bytes.subarray(0, PART_BYTES))
      assert.equal(await objects.head('large'), undefined)
      await objects.finishUpload('large', uploadId, [first, second])
      assert.ok((await read(await objects.get('large')))?.equals(bytes))
      // As after an answer that was lost.
      await objects.finishUpload('large', uploadId, [first, second])
    })

    test('an upload that is not ended is listed until it is aborted', async (t) => {
      const objects = await open(t)
      const uploadId = await objects.startUpload('x/large')
      await objects.putPart('x/large', uploadId, 1, randomBytes(1000))
      const found = await objects.unfinishedUploads('x/')
      assert.deepEqual(
        found.map(({ key, uploadId: id }) => [key, id]),
        [['x/large', uploadId]],
      )
      await objects.abortUpload('x/large', uploadId)
      assert.deepEqual(await objects.unfinishedUploads('x/'), [])
      await objects.abortUpload('x/large', uploadId)
    })

    const REFUSED: Record<string, { changes: Partial<Store & Pick<Bucket, 'now'>>; code: string; words: RegExp }> = {
      'a wrong secret': {
        changes: { secret: 'wrong' },
        code: 'SignatureDoesNotMatch',
        words: /Check objectStoreKeyId and objectStoreSecret/,
      },
      'an unknown key id': {
        changes: { keyId: 'UNKNOWN' },
        code: 'InvalidAccessKeyId',
        words: /Check objectStoreKeyId and objectStoreSecret/,
      },
      'a bucket that is not there': {
        changes: { bucket: 'no-such-bucket' },
        code: 'NoSuchBucket',
        words: /no bucket no-such-bucket\. Create it/,
      },
      'a clock that is an hour behind': {
        changes: { now: () => new Date(Date.now() - 60 * 60 * 1000) },
        code: 'RequestTimeTooSkewed',
        words: /Set the clock of this machine/,
      },
    }
    for (const [what, { changes, code, words }] of Object.entries(REFUSED)) {
      test(`${what} is refused as ${code}`, async (t) => {
        const objects = await open(t, changes)
        await assert.rejects(objects.put('a', Buffer.from('x')), { code, message: words })
      })
    }
  })
}
