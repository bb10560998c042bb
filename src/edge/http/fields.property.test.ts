/** Header fields that strangers write, read by us and by a few lines that follow the RFC's grammar word for word. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds, NASTY, nearly } from '../../../test/support/fuzz.ts'
import { readHttpDate, writeHttpDate } from '../cache/fields/http-date.ts'
import { readDictionary } from '../cache/fields/structured-field.ts'
import { purgePathOf, readTags } from '../cache/fields/tags.ts'
import { readCacheControl, seconds } from '../cache/policy/cache-control.ts'
import { keyOf } from '../cache/policy/key.ts'
import { normalizeAcceptEncoding, readVariant, variantOf } from '../cache/policy/vary.ts'
import { chooseEncoding, type Encoding, isKnown, readRange } from './negotiate.ts'

/** What can stand in a header at all: no line end, no NUL. */
const value = fc
  .oneof(fc.string({ maxLength: 30 }), fc.constantFrom(...NASTY))
  .map((text) => text.replaceAll(/[\r\n\0]/g, ''))

test('a range is a part of the file, the whole of it, or cannot be', async () => {
  const range = fc.oneof(
    fc.tuple(fc.nat(50), fc.nat(50)).map(([first, last]) => `bytes=${first}-${last}`),
    fc.nat(50).map((first) => `bytes=${first}-`),
    fc.nat(50).map((last) => `bytes=-${last}`),
    nearly('bytes=0123456789-, '),
    fc.constantFrom(`bytes=${'9'.repeat(400)}-`, `bytes=0-${'9'.repeat(400)}`, 'bytes=0-0,1-1', 'items=0-1'),
    value,
  )
  await holds(
    fc.property(range, fc.nat(40), (text, size) => {
      const found = readRange(text, undefined, { size, etag: '"a"' })
      const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(text) ?? []
      if (first === '' && last === '') {
        // Blanks in it are overlooked, and nothing else is.
        if (found !== 'whole') assert.match(text, /^bytes=\s*\d*\s*-\s*\d*\s*$/i)
      } else if (first !== '' && last !== '' && BigInt(last) < BigInt(first)) assert.equal(found, 'whole')
      else {
        const wanted = Array.from({ length: size }, (_, at) => at).filter((at) =>
          first === '' ? at >= size - Number(last) : at >= Number(first) && (last === '' || at <= Number(last)),
        )
        const expected = wanted.length === 0 ? 'unsatisfiable' : { start: wanted[0], end: wanted.at(-1) }
        assert.deepEqual(found, expected)
      }
      if (typeof found === 'string') return
      assert.ok(found.start >= 0 && found.start <= found.end && found.end < size, JSON.stringify(found))
    }),
    1000,
  )
})

test('a copy is known exactly if its tag is one of the list', async () => {
  const tag = fc.stringMatching(/^"[!#-~]{0,4}"$/)
  await holds(
    fc.property(fc.array(fc.tuple(fc.boolean(), tag)), tag, (list, own) => {
      const text = list.map(([isWeak, each]) => `${isWeak ? 'W/' : ''}${each}`).join(', ')
      assert.equal(
        isKnown(text, own),
        list.some(([, each]) => each === own),
      )
    }),
    300,
  )
})

const ENCODINGS: Encoding[] = ['br', 'gzip', 'identity']
const weight = fc.constantFrom('', ';q=0', ';q=0.0', ';q=1', ';q=0.5', '; q=0.001', ';q=1.000')
const accepted = fc.array(fc.tuple(fc.constantFrom('br', 'gzip', 'identity', '*', 'deflate', 'zstd'), weight), {
  maxLength: 5,
})

test('no client gets an encoding that it did not accept', async () => {
  await holds(
    fc.property(
      fc.oneof(
        accepted.map((list) => list.map((each) => each.join('')).join(', ')),
        value,
      ),
      (text) => {
        const chosen = chooseEncoding(text, ENCODINGS)
        const asked = normalizeAcceptEncoding(text)
        const stated = new Map<string, number>()
        for (const member of text.toLowerCase().split(',')) {
          const [name = '', ...rest] = member.split(';').map((part) => part.trim())
          const [, digits] = /^q\s*=\s*(.*)$/.exec(rest.find((part) => /^q\s*=/.test(part)) ?? 'q=1') ?? []
          stated.set(name, Number(digits))
        }
        for (const encoding of ['br', 'gzip'] as const) {
          const isUnwanted = !(
            (stated.get(encoding) ?? stated.get(encoding === 'gzip' ? 'x-gzip' : '*') ?? stated.get('*') ?? 0) > 0
          )
          if (!isUnwanted) continue
          assert.notEqual(chosen, encoding)
          assert.ok(!asked.split(', ').includes(encoding), `${text} became ${asked}`)
        }
      },
    ),
    1000,
  )
})

test('directives are found whatever stands around them, and a bad number of seconds is none at all', async () => {
  const noise = fc.array(fc.oneof(fc.stringMatching(/^[a-z]{1,6}(="[^"\\,]{0,4}")?$/), fc.constant('')), {
    maxLength: 3,
  })
  await holds(
    fc.property(noise, noise, fc.nat(), fc.boolean(), (before, after, number, isUpper) => {
      const own = `${isUpper ? 'MAX-AGE' : 'max-age'}=${number}`
      const found = readCacheControl([...before, own, 'no-store', ...after].join(isUpper ? ',' : ' , '))
      assert.equal(seconds(found, 'max-age'), Math.min(number, 2 ** 31))
      assert.equal(found.has('no-store'), true)
    }),
    300,
  )
  await holds(
    fc.property(value, (text) => {
      for (const [name, value] of readCacheControl(text)) {
        assert.match(name, /^[!#$%&'*+.^_`|~0-9a-z-]+$/)
        const count = seconds(new Map([[name, value]]), name) as number
        assert.ok(Number.isSafeInteger(count) && count >= 0 && count <= 2 ** 31)
      }
    }),
    500,
  )
})

test('a date that was written is read, to the second, and what is no date is none', async () => {
  await holds(
    fc.property(fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }), (date) => {
      const whole = Math.floor(date.getTime() / 1000) * 1000
      assert.equal(readHttpDate(writeHttpDate(date.getTime())), whole)
    }),
    300,
  )
  await holds(
    fc.property(fc.oneof(value, nearly('Sun, 06 Nov194:3GMT-d', 29)), (text) => {
      const ms = readHttpDate(text)
      if (ms !== undefined) assert.ok(Number.isSafeInteger(ms / 1000), text)
    }),
    500,
  )
})

test('a dictionary that is read can be written and is read the same; nonsense does not throw', async () => {
  const key = fc.stringMatching(/^[a-z*][a-z0-9_.*-]{0,5}$/)
  const item = fc.oneof(
    fc
      .integer({ min: -999_999, max: 999_999 })
      .map((number) => [String(number), { kind: 'integer', value: number }] as const),
    fc.boolean().map((is) => [`?${is ? 1 : 0}`, { kind: 'boolean', value: is }] as const),
    fc.stringMatching(/^[ !#-[\]-~]{0,6}$/).map((text) => [`"${text}"`, { kind: 'string', value: text }] as const),
  )
  await holds(
    fc.property(fc.uniqueArray(fc.tuple(key, item), { selector: ([name]) => name }), (members) => {
      const text = members.map(([name, [written]]) => `${name}=${written}`).join(', ')
      assert.deepEqual(
        [...(readDictionary(text) ?? [])],
        members.map(([name, [, read]]) => [name, { ...read }]),
      )
    }),
    300,
  )
  await holds(
    fc.property(fc.oneof(value, nearly('ab=1?"();:,. \\')), (text) => void readDictionary(text)),
    500,
  )
})

/** Request headers as node:http gives them. */
const headerName = fc.constantFrom(
  'rsc',
  'accept-language',
  'x-nextjs-data',
  'next-url',
  'cookie',
  'x-a',
  'hx-target',
  'accept',
)
const headers = fc.dictionary(headerName, value, { maxKeys: 4 })

test('two requests have one key exactly if nothing differs that counts', async () => {
  const addressed = fc.record({
    scheme: fc.constantFrom('http' as const, 'https' as const),
    authority: fc.constantFrom('a', 'A', 'a:80', 'b', 'a/', '1:a'),
    target: fc.oneof(
      fc.constantFrom('/', '/a', '/A', '/?a', '//a', '/:1:a'),
      nearly('/ab?:1+[]"').map((text) => `/${text}`),
    ),
    headers,
  })
  const framing = (given: Record<string, unknown>) =>
    Object.entries(given)
      .filter(([name]) => /^(rsc|x-nextjs-|next-|hx-)/.test(name))
      .sort(([one], [other]) => (one < other ? -1 : 1))
  await holds(
    fc.property(addressed, addressed, fc.boolean(), (one, other, isAlike) => {
      // Two that come by chance hardly ever agree.
      const second = isAlike ? { ...one, headers: other.headers } : other
      const identity = (each: typeof one) =>
        JSON.stringify([each.scheme, each.authority.toLowerCase(), each.target, framing(each.headers)])
      assert.equal(keyOf(one) === keyOf(second), identity(one) === identity(second))
    }),
    1000,
  )
})

test('two requests have one variant exactly if the named headers say the same', async () => {
  const vary = fc
    .uniqueArray(fc.constantFrom('cookie', 'x-a', 'rsc', 'next-url'), { maxLength: 3 })
    .map((list) => list.sort())
  await holds(
    fc.property(vary, headers, headers, (names, one, other) => {
      // Blanks around the values of headers that are no secret's do not count, nor do empty members of a list.
      const plain = (name: string, text: string | undefined) =>
        text === undefined || name === 'cookie' || text.includes('"')
          ? text
          : text
              .split(',')
              .map((part) => part.replace(/^[ \t]+|[ \t]+$/g, ''))
              .filter((part) => part !== '' || !text.includes(','))
              .join(',')
      const same = names.every((name) => plain(name, one[name]) === plain(name, other[name]))
      assert.equal(variantOf(names, one) === variantOf(names, other), same)
      for (const [name, value] of Object.entries(readVariant(variantOf(names, one)))) {
        assert.equal(value, plain(name, one[name]))
      }
    }),
    1000,
  )
})

test('a path is the same to a purge however it is escaped, and once it is plain it stays', async () => {
  const segment = fc.oneof(
    fc.stringMatching(/^[a-z0-9._~-]{1,5}$/),
    fc.constantFrom('é', '日本', 'a b', '😀', "it's", '%'),
  )
  await holds(
    fc.property(fc.array(segment, { maxLength: 4 }), fc.boolean(), (segments, hasQuery) => {
      const escaped = `/${segments.map(encodeURIComponent).join('/')}`
      const plain = `/${segments.join('/')}`
      assert.equal(purgePathOf(`${escaped}${segments.length > 0 ? '/' : ''}${hasQuery ? '?a=1' : ''}`), plain)
      assert.equal(purgePathOf(Buffer.from(escaped).toString('latin1')), plain)
    }),
    500,
  )
  await holds(
    fc.property(value, (text) => {
      const path = purgePathOf(`/${text}`)
      assert.ok(path.startsWith('/') && (path === '/' || !path.endsWith('/')))
    }),
    500,
  )
})

test('tags have no comma in them, none stands there twice, and all that were written are found', async () => {
  const tag = fc.stringMatching(/^[a-zA-Z0-9:_/-]{1,8}$/)
  await holds(
    fc.property(
      fc.array(tag, { maxLength: 6 }),
      fc.array(tag, { maxLength: 3 }),
      fc.constantFrom(',', ', ', ' '),
      (some, more, between) => {
        const found = readTags(['Cache-Tag', some.join(between), 'X-Other', 'a', 'surrogate-key', more.join(' ')])
        assert.deepEqual(new Set(found), new Set([...some, ...more]))
        assert.equal(found.length, new Set(found).size)
      },
    ),
    300,
  )
})
