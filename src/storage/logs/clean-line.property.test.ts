/** Cleaning compared with a simple and slow model, and the time that it takes for input that tenants choose. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { holds } from '../../../test/support/fuzz.ts'
import { LIMITS } from '../../contract/index.ts'
import { compileCleaner } from './clean-line.ts'
import { compileNeedles, type Places } from './needles.ts'
import { textAt, visiblePlaces } from './visible.ts'

/** Every range of every needle, one by one. */
function coveredBy(needles: readonly string[], text: string): boolean[] {
  const covered = new Array<boolean>(text.length).fill(false)
  for (const needle of needles) {
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1))
      covered.fill(true, at, at + needle.length)
  }
  return covered
}

function toPlaces(covered: readonly boolean[]): Places {
  const places: Places = []
  for (const [at, isCovered] of covered.entries()) {
    if (isCovered !== (covered[at - 1] ?? false)) places.push(at)
  }
  return places.length % 2 === 0 ? places : [...places, covered.length]
}

/** Few letters, so that needles overlap, contain and continue each other. */
const word = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\ud83d', '\ude00'), minLength: 1, maxLength: 6 })

test('the automaton finds what a search for each needle finds', async () => {
  await holds(
    fc.asyncProperty(fc.array(word, { maxLength: 8 }), fc.array(word, { maxLength: 12 }), async (needles, parts) => {
      const text = parts.join('')
      assert.deepEqual((await compileNeedles(needles)).find(text), toPlaces(coveredBy(needles, text)))
    }),
    500,
  )
})

const secret = fc.oneof(
  fc.constantFrom(
    'hunter2',
    'hunt',
    'hunter2-long',
    'ter2',
    'ünïcode-😀',
    'a\tb\tc\td',
    'ca\u0001rry\x1b[1mall',
    '   padded   ',
  ),
  fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r\n', ' '), minLength: 1, maxLength: 20 }),
)
const noise = fc.constantFrom(
  '\x1b[31m',
  '\x1b[0m',
  '\0',
  '\u202e',
  '\u2028',
  '\r',
  '\x1b]0;title\x07',
  '\x1b',
  '\x1b[',
  ' ',
  'x',
  '\ud800',
)

test('what is written is what the slow model writes, and holds no line of a secret, whatever stands in the middle', async () => {
  const written = fc.array(
    fc.oneof(
      secret,
      noise,
      secret.map((text) => text.slice(0, 3)),
      secret.map((text) => text.slice(3)),
    ),
  )
  await holds(
    fc.asyncProperty(fc.array(secret, { maxLength: 6 }), written, async (secrets, parts) => {
      const line = parts.join('').replaceAll('\n', ' ')
      const needles = secrets
        .flatMap((text) => text.split(/[\r\n]+/))
        .flatMap((text) => [text.trim(), textAt(text, visiblePlaces(text)).trim()])
        .filter(({ length }) => length >= 4)
      const shown = visiblePlaces(line)
      const text = textAt(line, shown)
      const covered = coveredBy(needles, text)
      const inLine = coveredBy(needles, line)
      for (let part = 0, offset = 0; part < shown.length; part += 2) {
        for (let at = shown[part] as number; at < (shown[part + 1] as number); at++)
          covered[offset++] ||= inLine[at] as boolean
      }
      const model = [...covered.entries()]
        .map(([at, isCovered]) => (isCovered ? (covered[at - 1] ? '' : '[secret]') : text[at]))
        .join('')
      const cleaned = (await compileCleaner(secrets)).clean(line)
      assert.equal(cleaned, model)
      const left = cleaned.split('[secret]')
      for (const needle of needles) assert.ok(!left.some((part) => part.includes(needle)), needle)
    }),
    500,
  )
})

test('what a terminal would show is what Node takes it for, wherever escapes are whole', async () => {
  const wholeEscape = fc.constantFrom(
    '\x1b[31m',
    '\x1b[1;38;5;196m',
    '\x1b[2K',
    '\x1b[?25l',
    '\x9b4m',
    '\x1b]0;title\x07',
    '\x1b]8;;https://example.com\x1b\\',
    '\x1b[10;20H',
  )
  const parts = fc.array(fc.oneof(wholeEscape, fc.constantFrom('text', ' ', 'é', '😀', '\t')), { maxLength: 20 })
  await holds(
    fc.property(parts, (given) => {
      const line = given.join('')
      assert.equal(textAt(line, visiblePlaces(line)), stripVTControlCharacters(line))
    }),
    300,
  )
})

/** CPU time of this thread, in microseconds: it does not depend on how busy the machine is. */
function cost(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const after = process.threadCpuUsage()
  return Math.max(1000, after.user + after.system - before.user - before.system)
}

const LONG = 256 * 1024
const SHORT = LONG / 64

const HOSTILE_LINES: Record<string, (length: number) => string> = {
  'carriage returns': (length) => `${'\r'.repeat(length)}x`,
  'carriage returns between letters': (length) => '\rx'.repeat(length / 2),
  escapes: (length) => '\x1b'.repeat(length),
  'escapes that begin a string which nothing ends': (length) => '\x1b]a;'.repeat(length / 4),
  'control sequences that nothing ends': (length) => '\x1b[1;'.repeat(length / 4),
  'one control sequence that nothing ends': (length) => `\x1b[${'1;'.repeat(length / 2)}`,
  'characters that hide text': (length) => '\u202e'.repeat(length),
  'halves of pairs': (length) => '\ud800'.repeat(length),
  'beginnings of a secret': (length) => 'aaaa'.repeat(length / 4),
}

for (const [name, lineOf] of Object.entries(HOSTILE_LINES)) {
  test(`a line costs what its length is worth: ${name}`, async () => {
    const cleaner = await compileCleaner([`${'a'.repeat(10_000)}b`])
    cost(() => cleaner.clean(lineOf(SHORT)))
    const short = cost(() => cleaner.clean(lineOf(SHORT)))
    const long = cost(() => cleaner.clean(lineOf(LONG)))
    // 64 times the length: quadratic time would be 4,096 times the cost.
    assert.ok(long < short * 1000, `${short} µs, then ${long} µs`)
  })
}

const { variableTotalBytes, variableValueBytes } = LIMITS
const VALUES = variableTotalBytes / variableValueBytes
const values = (of: (value: number) => string) =>
  Array.from({ length: VALUES }, (_, value) => of(value).slice(0, variableValueBytes))

const MAXIMAL: Record<string, string[]> = {
  'a hundred thousand lines': values((value) => {
    const lines = Math.floor(variableValueBytes / 5)
    return Array.from({ length: lines }, (_, line) => (value * lines + line).toString(36).padStart(4, 'x')).join('\n')
  }),
  'long lines that begin alike': values((value) => `${'a'.repeat(variableValueBytes - 1)}${value}`),
  'lines with something invisible in each': values((value) => `${value}bcdefg\u0001`.repeat(variableValueBytes / 8)),
}

for (const [name, secrets] of Object.entries(MAXIMAL)) {
  test(`the most that variables can hold: ${name}`, async () => {
    let longestMicroseconds = 0
    let before = process.threadCpuUsage()
    let isCompiled = false
    const watch = () => {
      const now = process.threadCpuUsage()
      longestMicroseconds = Math.max(longestMicroseconds, now.user + now.system - before.user - before.system)
      before = now
      if (!isCompiled) setImmediate(watch)
    }
    setImmediate(watch)
    const cleaner = await compileCleaner(secrets)
    isCompiled = true
    // It yields to the event loop: it takes a few hundred milliseconds in all, and no slice more than a few.
    assert.ok(longestMicroseconds < 500_000, `${longestMicroseconds} µs in one go`)
    assert.ok(cleaner.bytes < 52 * variableTotalBytes, `${cleaner.bytes} bytes`)

    const few = await compileCleaner(['hunter2'])
    const flood = 'hello, this is a line of a log, and it has no secret in it '.repeat(2000)
    for (const each of [few, cleaner]) each.clean(flood)
    const [cheap, dear] = [cost(() => few.clean(flood)), cost(() => cleaner.clean(flood))]
    assert.ok(dear < cheap * 100, `${dear} µs instead of ${cheap}`)
    const [line = ''] = (secrets[3] ?? '').split('\n')
    const shown = textAt(line, visiblePlaces(line))
    assert.equal(cleaner.clean(`key=${line}!`), `key=[secret]!`)
    assert.equal(cleaner.clean(`key=${shown}!`), `key=[secret]!`)
  })
}
