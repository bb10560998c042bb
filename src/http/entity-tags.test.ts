import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds, nearly } from '../../test/support/fuzz.ts'
import { hasEntityTag, readEntityTag, readEntityTags } from './entity-tags.ts'

test('one tag is read without its quotes, weak or strong', () => {
  assert.equal(readEntityTag('"abc"'), 'abc')
  assert.equal(readEntityTag('W/"abc"'), 'abc')
  assert.equal(readEntityTag('""'), '')
  for (const wrong of ['', 'abc', '"abc', 'w/"abc"', 'W/abc', '"a b"', '"a"b"', '*', '"a", "b"', ' "a"', '"a"\n']) {
    assert.equal(readEntityTag(wrong), undefined, JSON.stringify(wrong))
  }
})

test('several tags are read in the order in which they stand, and empty places between commas are nothing', () => {
  assert.deepEqual(readEntityTags('"a"'), ['a'])
  assert.deepEqual(readEntityTags(' W/"a" ,"b"\t,, "c,d",'), ['a', 'b', 'c,d'])
  assert.equal(readEntityTags(' * '), '*')
  for (const wrong of ['', ' ', ',', 'a', '"a" "b"', '"a", *', '*, "a"', '"a"; "b"', '"a",b', 'W/ "a"']) {
    assert.equal(readEntityTags(wrong), undefined, JSON.stringify(wrong))
  }
})

test('a client has a version when it names it, weak or strong, or any', () => {
  for (const given of ['"a"', 'W/"a"', '"b", "a"', '*']) assert.ok(hasEntityTag(given, '"a"'), given)
  for (const given of [undefined, '', 'a', '"b"', '"ab"', '"a', '"a" "b"'])
    assert.ok(!hasEntityTag(given, '"a"'), given)
})

test('whatever is written as a list is read as it was meant, and anything else is refused or a list', async () => {
  const tag = fc.string({ unit: fc.constantFrom('a', '!', '#', ',', '*', '/', 'W', '~'), maxLength: 6 })
  const comma = fc.constantFrom(',', ', ', ' ,\t', ',,')
  await holds(
    fc.property(fc.array(fc.tuple(tag, fc.boolean(), comma), { minLength: 1, maxLength: 5 }), (tags) => {
      const text = tags.map(([each, isWeak, after]) => `${isWeak ? 'W/' : ''}"${each}"${after}`).join('')
      assert.deepEqual(
        readEntityTags(text),
        tags.map(([each]) => each),
      )
    }),
    300,
  )
  await holds(
    fc.property(nearly('W/",* a', 20), (text) => {
      const found = readEntityTags(text)
      assert.ok(found === undefined || found === '*' || found.length > 0)
    }),
    300,
  )
})

test('a long header is read in steps that grow with its length and no faster', () => {
  const time = (text: string) => {
    const before = process.cpuUsage()
    for (let times = 0; times < 20; times++) readEntityTags(text)
    const { user, system } = process.cpuUsage(before)
    return user + system + 200
  }
  for (const piece of ['"a",', ',', ' ', '\t,', 'W/"', '"', '"a" ']) {
    const [short, long] = [piece.repeat(2_000), piece.repeat(16_000)]
    time(short)
    assert.ok(time(long) < 100 * time(short), JSON.stringify(piece))
  }
})
