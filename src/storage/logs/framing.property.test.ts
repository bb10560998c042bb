/** Forged page tokens, and output of programs that is cut anywhere. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { holds } from '../../../test/support/fuzz.ts'
import { migratedSql } from '../../../test/support/sql.ts'
import { systemClock } from '../../base/index.ts'
import { Problem } from '../../contract/index.ts'
import { pageOf, toPage } from '../sql/pages.ts'
import { createLineLogs } from './line-log.ts'
import { createSharedLogs } from './shared/shared-logs.ts'

test('a page token leads on from the last item, in its own order and in no other', async () => {
  const order = fc.constantFrom('newest' as const, 'oldest' as const)
  await holds(
    fc.property(fc.uniqueArray(fc.uuid({ version: 7 }), { minLength: 2, maxLength: 5 }), order, (ids, order) => {
      const rows = ids.map((id) => ({ id }))
      const { items, nextPageToken } = pageOf(rows, toPage({ pageSize: rows.length - 1, order }))
      assert.equal(items.length, rows.length - 1)
      const next = toPage({ pageToken: nextPageToken, order })
      assert.deepEqual([next.isResumed, next.after.values], [true, [items.at(-1)?.id]])
      const other = order === 'newest' ? 'oldest' : 'newest'
      assert.throws(() => toPage({ pageToken: nextPageToken, order: other }), { reason: 'PAGE_TOKEN_INVALID' })
    }),
    200,
  )
})

test('a page token that was made up is refused, or is one that could have been given', async () => {
  const token = fc.oneof(
    fc.string({ minLength: 1, maxLength: 80 }),
    fc
      .tuple(fc.constantFrom('newest ', 'oldest ', ''), fc.oneof(fc.uuid(), fc.string()))
      .map((parts) => Buffer.from(parts.join('')).toString('base64url'))
      .filter((text) => text !== ''),
  )
  await holds(
    fc.property(token, (pageToken) => {
      try {
        const [id] = toPage({ pageToken }).after.values
        assert.match(String(id), /^[0-9a-f-]{36}$/)
      } catch (error) {
        assert.ok(error instanceof Problem && error.reason === 'PAGE_TOKEN_INVALID', String(error))
      }
    }),
    500,
  )
})

const KINDS = {
  files: async (t: TestContext) => createLineLogs(await temporaryFolder(t)),
  rows: async (t: TestContext) => createSharedLogs({ sql: await migratedSql(t), clock: systemClock }),
}

for (const [kind, open] of Object.entries(KINDS)) {
  test(`in ${kind}, the lines of a program are the same wherever its output is cut, and no secret or control character is in them`, async (t) => {
    const logs = await open(t)
    const SECRET = 'hunter2-ä😀'
    const piece = fc.constantFrom(
      'a',
      'line',
      ' ',
      '\n',
      '\r\n',
      '\t',
      'é',
      '😀',
      SECRET,
      '\x1b[31m',
      '\x1b[0m',
      '\0',
      '\u202e',
      '\u2028',
      '\r',
      '{"number":9}',
      '<script>',
    )
    let count = 0
    await holds(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 20 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 }),
        async (pieces, places) => {
          const bytes = Buffer.from(pieces.join(''))
          const sorted = places.map((place) => Math.floor(place * bytes.length)).sort((one, other) => one - other)
          const options = { secrets: [SECRET], whenFull: 'stop', maxBytes: 1e6 } as const
          const texts: string[][] = []
          for (const cuts of [[], sorted]) {
            const name = `fuzz/${count++}`
            const log = await logs.create(name, options)
            for (const [n, from] of [0, ...cuts].entries()) log.write('stdout', 'build', bytes.subarray(from, cuts[n]))
            await log.close()
            const lines = await logs.read(name, 0)
            assert.deepEqual(
              lines.map(({ number }) => number),
              lines.map((_, n) => n + 1),
              'numbered without a gap',
            )
            texts.push(lines.map(({ text }) => text))
            await logs.remove(name)
          }
          assert.deepEqual(texts[0], texts[1])
          assert.ok(!/hunter2-ä|[^\P{C}\n\t]|\p{Zl}/u.test(texts.flat().join('\n')), JSON.stringify(texts))
        },
      ),
      150,
    )
  })
}
