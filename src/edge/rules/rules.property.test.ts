/** Whatever authors write and visitors send: nothing throws, and the work is linear. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../../test/support/fuzz.ts'
import { lookUp } from '../static/look-up.ts'
import { compileRules } from './compile.ts'
import { changeHeaders } from './headers.ts'
import { createMatcher } from './matcher.ts'
import { matchPattern, readPath } from './path.ts'
import { RULE_FILES } from './rule-files.ts'
import type { PathPattern } from './rules.ts'

const word = fc.constantFrom('a', 'b', 'ab', 'docs', '%2F', '%zz', 'é', '', '.', '..', 'index.html')
const piece = fc.oneof(
  word,
  fc.constantFrom('*', ':a', ':splat', ':a*', ':b?', ':c+', '(.*)', '{x}', '\\', '%00', '\0'),
)
const path = fc
  .array(
    fc.oneof(
      piece,
      fc.tuple(piece, piece).map((pair) => pair.join('')),
    ),
    { maxLength: 6 },
  )
  .map((parts) => `/${parts.join('/')}`)
const destination = fc.oneof(
  path,
  fc.tuple(fc.constantFrom('https://a.test', 'http://b.test:8080', '//c', 'x'), path).map((both) => both.join('')),
)
const status = fc.constantFrom('', ' 200', ' 200!', ' 301', ' 302!', ' 404', ' 999', ' x', ' 301 Country=de')
const query = fc.constantFrom('', ' id=:id', ' a=1 b=:x', ' =', ' a')

const redirectsFile = fc
  .array(
    fc.oneof(
      fc.tuple(path, query, destination, status).map(([from, params, to, code]) => `${from}${params} ${to}${code}`),
      fc.string({ unit: 'binary' }),
    ),
    { maxLength: 8 },
  )
  .map((lines) => lines.join('\n'))
const headersFile = fc
  .array(
    fc.oneof(
      path,
      fc.tuple(fc.string(), fc.string({ unit: 'binary' })).map(([name, value]) => ` ${name}: ${value}`),
      fc.constant(' X-A: :splat :a'),
    ),
    { maxLength: 8 },
  )
  .map((lines) => lines.join('\n'))
const entry = fc.record({ source: path, destination, permanent: fc.boolean() }, { requiredKeys: [] })
const vercelFile = fc.oneof(
  fc
    .record(
      {
        redirects: fc.array(entry),
        rewrites: fc.array(entry),
        headers: fc.array(
          fc.record({ source: path, headers: fc.array(fc.record({ key: fc.string(), value: fc.string() })) }),
        ),
        cleanUrls: fc.boolean(),
        trailingSlash: fc.boolean(),
      },
      { requiredKeys: [] },
    )
    .map((value) => JSON.stringify(value, null, 1)),
  fc.json(),
  fc.string(),
)
const tomlFile = fc.oneof(
  fc
    .array(fc.tuple(path, destination))
    .map((rules) =>
      rules.map(([from, to]) => `[[redirects]]\nfrom = ${JSON.stringify(from)}\nto = ${JSON.stringify(to)}\n`).join(''),
    ),
  fc.string({ unit: 'binary' }),
)
const texts = fc.record(
  { _redirects: redirectsFile, _headers: headersFile, 'netlify.toml': tomlFile, 'vercel.json': vercelFile },
  { requiredKeys: [] },
)
const target = fc.oneof(
  path,
  fc.string({ unit: 'binary' }).map((text) => `/${text}`),
  fc.webPath().map((text) => `/${text}`),
)

test('whatever the files and the request are, there is an answer that can be sent', async () => {
  await holds(
    fc.asyncProperty(
      texts,
      target,
      fc.option(fc.string(), { nil: undefined }),
      fc.constantFrom('', '/docs'),
      async (written, asked, search, basePath) => {
        const { rules, warnings } = compileRules({ texts: written, basePath, allowedHosts: ['a.test'] })
        for (const warning of warnings)
          assert.ok(
            RULE_FILES.some((file) => warning.startsWith(file)),
            warning,
          )
        const matcher = rules && createMatcher(JSON.parse(JSON.stringify(rules)))
        const site = {
          singlePage: false,
          notFound: null,
          basePath,
          rules: matcher,
          find: (address: string) => (address === '/a' ? { size: 1, digest: '' } : undefined),
        }
        const found = await lookUp(site, { path: asked, query: search })
        if (found.kind === 'redirect' && found.isByRule && search === undefined) {
          assert.match(found.location, /^(?:\/(?![/\\])|https?:\/\/[ab]\.test)[!-~]*$/)
        }
        if (found.kind === 'proxy') assert.equal(found.origin, 'https://a.test')
        if (found.kind === 'file' && found.headers)
          for (const text of changeHeaders([], found.headers)) assert.match(text, /^[\t -~]*$/)
      },
    ),
    1500,
  )
})

/** The same meaning as a regular expression, which is only safe here because the paths are short. */
function toExpression({ head, splat, tail = [] }: PathPattern): RegExp {
  const literally = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  const segment = (one: PathPattern['head'][number]) =>
    typeof one === 'string' ? literally(one) : `${literally(one.prefix ?? '')}[^/]+${literally(one.suffix ?? '')}`
  const before = head.map((one) => `/${segment(one)}`).join('')
  const after = tail.map((one) => `/${segment(one)}`).join('')
  if (!splat) return new RegExp(`^(?:${before === '' ? '' : before}${after})/?$`, 's')
  const middle = `/${literally(splat.prefix ?? '')}.*${literally(splat.suffix ?? '')}`
  const filled = splat.isOptional ? `(?:${middle})?` : middle
  return new RegExp(`^${before}${filled}${after}${tail.length > 0 ? '/?' : ''}$`, 's')
}

test('a pattern matches the paths that the regular expression with its meaning matches', async () => {
  const literal = fc.constantFrom('a', 'b', 'ab')
  const around = fc.constantFrom(undefined, 'a', 'b')
  const capture = fc.record({ name: fc.constant('x'), prefix: around, suffix: around })
  const pattern = fc.record({
    head: fc.array(fc.oneof(literal, capture), { maxLength: 3 }),
    splat: fc.option(fc.record({ name: fc.constant('splat'), prefix: around, suffix: around }), { nil: undefined }),
    tail: fc.array(fc.oneof(literal, capture), { maxLength: 2 }),
  })
  const asked = fc.tuple(fc.array(fc.constantFrom('a', 'b', 'ab', 'aab', 'abab'), { maxLength: 6 }), fc.boolean())
  await holds(
    fc.property(pattern, asked, ({ head, splat, tail }, [segments, hasSlash]) => {
      const made = { head, ...(splat ? { splat } : {}), ...(splat && tail.length > 0 ? { tail } : {}) } as PathPattern
      const text = `/${segments.join('/')}${hasSlash && segments.length > 0 ? '/' : ''}`
      const read = readPath(text)
      assert.ok(read)
      const isMatch = matchPattern(made, read, undefined) !== undefined
      assert.equal(isMatch, toExpression(made).test(text), `${JSON.stringify(made)} and ${text}`)
    }),
    3000,
  )
})

/** Counts how often the characters of a path are looked at, by the strings that are compared. */
test('the work for a path is linear in its length and in the length of the patterns', () => {
  const compared = (segments: number): number => {
    let count = 0
    const path = readPath(`/${'a/'.repeat(segments)}`)
    assert.ok(path)
    const watched = new Proxy(path.segments, {
      get(list, key) {
        count++
        return Reflect.get(list, key)
      },
    })
    const pattern: PathPattern = {
      head: Array.from({ length: 50 }, (_, n) => ({ name: `h${n}` })),
      splat: { name: 'splat', prefix: 'a', suffix: 'b' },
      tail: Array.from({ length: 50 }, (_, n) => ({ name: `t${n}` })),
    }
    matchPattern(pattern, { ...path, segments: watched }, undefined)
    return count
  }
  // The segments between the splat's ends are not looked at one by one.
  assert.ok(compared(4000) <= compared(200) + 10, `${compared(200)} and ${compared(4000)}`)
})
