/** Random multipart bodies in random chunks: the file is received as it was sent, or the form is refused with a problem. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../test/support/fuzz.ts'
import { PROBLEMS, Problem } from '../contract/index.ts'
import { DEFAULT_ARCHIVE_LIMITS } from './limits.ts'
import { openForm } from './multipart.ts'

const LIMITS = { ...DEFAULT_ARCHIVE_LIMITS, archiveBytes: 2000 }
const TYPE = 'multipart/form-data; boundary=xYz'

async function read(chunks: readonly Buffer[], type = TYPE): Promise<Buffer | Problem> {
  let form: ReturnType<typeof openForm> | undefined
  try {
    form = openForm(Readable.from(chunks), type, LIMITS)
    return Buffer.concat(await Array.fromAsync(form.file))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    assert.ok(error.reason in PROBLEMS)
    return error
  } finally {
    form?.close()
  }
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = places.map((place) => Math.floor(place * bytes.length)).sort((one, other) => one - other)
  return [0, ...sorted].map((from, n) => bytes.subarray(from, sorted[n])).filter((part) => part.length > 0)
}

const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
/** What looks like a boundary, or a part of one, must stay a part of the file. */
const content = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom(
        ...['\r\n', '--', '--xY', '\r\n--xY', '\r\n--xyz', 'xYz--', '\r\n-'].map((text) => Buffer.from(text)),
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Buffer.concat(parts))
  .filter((bytes) => !bytes.includes('\r\n--xYz') && !bytes.toString('latin1').startsWith('--xYz'))

const wrap = (bytes: Buffer, head = 'Content-Disposition: form-data; name="repository"; filename="a.zip"'): Buffer =>
  Buffer.concat([Buffer.from(`--xYz\r\n${head}\r\n\r\n`), bytes, Buffer.from('\r\n--xYz--\r\n')])

test('a file in a form is the same file, wherever the body is cut', async () => {
  await holds(
    fc.asyncProperty(content, fc.array(place, { maxLength: 6 }), async (bytes, places) => {
      const came = await read(cut(wrap(bytes), places))
      assert.ok(!(came instanceof Problem), String(came))
      assert.deepEqual(came, bytes)
    }),
    150,
  )
})

test('a form with bytes changed anywhere is refused, or gives no more than was sent', async () => {
  const HEADS = [
    'Content-Disposition: form-data; name="repository"; filename="a.zip"',
    'Content-Disposition: form-data; name="other"',
    "Content-Disposition: form-data; name*=utf-8''%ff",
    'X: y',
    `X: ${'a'.repeat(9000)}`,
    '',
  ]
  const change = fc.record({ at: place, byte: fc.nat(255), isInserted: fc.boolean() })
  await holds(
    fc.asyncProperty(
      content,
      fc.constantFrom(...HEADS),
      fc.array(change, { maxLength: 4 }),
      fc.array(place, { maxLength: 3 }),
      async (bytes, head, changes, places) => {
        let body = wrap(bytes, head)
        for (const { at, byte, isInserted } of changes) {
          const where = Math.floor(at * body.length)
          body = Buffer.concat([
            body.subarray(0, where),
            Buffer.from([byte]),
            body.subarray(isInserted ? where : where + 1),
          ])
        }
        const came = await read(cut(body, places))
        if (!(came instanceof Problem)) assert.ok(body.includes(came), 'a piece of what was sent')
      },
    ),
    150,
  )
})

test('a content type is read as one of a form, or refused', async () => {
  const type = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.stringMatching(/^multipart\/form-data; ?boundary="?[ -~]{0,75}"?$/),
  )
  await holds(
    fc.asyncProperty(type, async (text) => void (await read([wrap(Buffer.from('a'))], text))),
    150,
  )
})
