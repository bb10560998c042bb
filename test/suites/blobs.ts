/** What every store behind `Blobs` must do. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { suite, type TestContext, test } from 'node:test'
import type { Blobs, Digest } from '../../src/storage/index.ts'

export function blobsSuite(adapter: string, open: (t: TestContext) => Promise<Blobs>) {
  const from = async function* (...chunks: Uint8Array[]) {
    yield* chunks
  }
  const digestOf = (bytes: Uint8Array): Digest => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

  suite(`${adapter} as Blobs`, () => {
    test('a stored blob is read back by its SHA-256', async (t) => {
      const blobs = await open(t)
      const chunks = [randomBytes(70_000), randomBytes(1), randomBytes(300_000)]
      const whole = Buffer.concat(chunks)
      assert.deepEqual(await blobs.put(from(...chunks)), { digest: digestOf(whole), bytes: whole.length })
      assert.deepEqual(await buffer(await blobs.open(digestOf(whole))), whole)
    })

    test('an empty blob is a blob', async (t) => {
      const blobs = await open(t)
      const { digest, bytes } = await blobs.put(from())
      assert.equal(bytes, 0)
      assert.equal((await buffer(await blobs.open(digest))).length, 0)
    })

    test('the same bytes put twice, even at once, are one blob', async (t) => {
      const blobs = await open(t)
      const bytes = randomBytes(1000)
      const both = await Promise.all([blobs.put(from(bytes)), blobs.put(from(bytes))])
      assert.deepEqual(both[0], both[1])
      assert.deepEqual(await buffer(await blobs.open(both[0].digest)), bytes)
    })

    test('a lent file exists for as long as it is used, and is no blob before or after', async (t) => {
      const blobs = await open(t)
      const bytes = randomBytes(1000)
      assert.deepEqual(await blobs.lend(from(bytes), (file) => readFile(file)), bytes)
      await assert.rejects(
        blobs.lend(from(bytes), () => Promise.reject(new Error('no'))),
        /no/,
      )
      assert.deepEqual(await blobs.list(), [])
      const { digest } = await blobs.put(from(bytes))
      await blobs.lend(from(bytes), (file) => readFile(file))
      assert.deepEqual(await blobs.list(), [digest])
    })

    test('a source that fails leaves nothing behind', async (t) => {
      const blobs = await open(t)
      const bytes = randomBytes(1000)
      const failing = async function* () {
        yield bytes
        throw new Error('the client went away')
      }
      await assert.rejects(blobs.put(failing()), /went away/)
      assert.equal(await blobs.has(digestOf(bytes)), false)
    })

    test('a check sees the complete content in a file, before it is a blob', async (t) => {
      const blobs = await open(t)
      const bytes = randomBytes(200_000)
      const seen: unknown[] = []
      const { digest } = await blobs.put(from(bytes.subarray(0, 70_000), bytes.subarray(70_000)), async (file) => {
        seen.push(await readFile(file), await blobs.has(digestOf(bytes)))
      })
      assert.deepEqual(seen, [bytes, false])
      assert.equal(await blobs.has(digest), true)
    })

    test('a check that throws leaves nothing behind', async (t) => {
      const blobs = await open(t)
      const bytes = randomBytes(1000)
      const files: string[] = []
      const refusing = blobs.put(from(bytes), async (file) => {
        files.push(file)
        throw new Error('not that one')
      })
      await assert.rejects(refusing, /not that one/)
      assert.equal(await blobs.has(digestOf(bytes)), false)
      for (const file of files) await assert.rejects(readFile(file), { code: 'ENOENT' })
    })

    test('a check that throws does not harm the same bytes that were put before', async (t) => {
      const blobs = await open(t)
      const bytes = randomBytes(1000)
      const { digest } = await blobs.put(from(bytes))
      await assert.rejects(blobs.put(from(bytes), () => Promise.reject(new Error('not that one'))))
      assert.deepEqual(await buffer(await blobs.open(digest)), bytes)
    })

    test('a blob can be read as a local file', async (t) => {
      const blobs = await open(t)
      const bytes = randomBytes(1000)
      const { digest } = await blobs.put(from(bytes))
      assert.deepEqual(await blobs.withFile(digest, (file) => readFile(file)), bytes)
    })

    test('a blob that is not there is BlobNotFound, and removing it is no error', async (t) => {
      const blobs = await open(t)
      const digest = digestOf(randomBytes(8))
      await assert.rejects(blobs.open(digest), { name: 'BlobNotFound' })
      await assert.rejects(
        blobs.withFile(digest, (file) => readFile(file)),
        { name: 'BlobNotFound' },
      )
      await blobs.remove(digest)
    })

    test('a removed blob is gone and can be put again', async (t) => {
      const blobs = await open(t)
      const bytes = randomBytes(1000)
      const { digest } = await blobs.put(from(bytes))
      await blobs.remove(digest)
      assert.equal(await blobs.has(digest), false)
      await blobs.put(from(bytes))
      assert.equal(await blobs.has(digest), true)
    })

    test('a list has every blob once', async (t) => {
      const blobs = await open(t)
      assert.deepEqual(await blobs.list(), [])
      const contents = [randomBytes(10), randomBytes(20), randomBytes(30)]
      for (const bytes of [...contents, contents[0] as Buffer]) await blobs.put(from(bytes))
      assert.deepEqual((await blobs.list()).sort(), contents.map(digestOf).sort())
    })

    test('a blob that was put since a time is not removed, whether it is new or was put again', async (t) => {
      const blobs = await open(t)
      const bytes = randomBytes(1000)
      const { digest } = await blobs.put(from(bytes))
      const [aMinuteAgo, inAMinute] = [Date.now() - 60_000, Date.now() + 60_000]
      assert.equal(await blobs.remove(digest, { putSince: aMinuteAgo }), false)
      assert.deepEqual(await buffer(await blobs.open(digest)), bytes)
      assert.equal(await blobs.remove(digest, { putSince: inAMinute }), true)
      assert.equal(await blobs.has(digest), false)
    })

    test('a digest that is no digest never becomes a path', async (t) => {
      const blobs = await open(t)
      for (const text of ['sha256:../../etc/passwd', '', 'sha256:', `sha256:${'A'.repeat(64)}`]) {
        await assert.rejects(async () => blobs.open(text as Digest), /not a digest/)
        await assert.rejects(async () => blobs.withFile(text as Digest, (file) => readFile(file)), /not a digest/)
      }
    })
  })
}
