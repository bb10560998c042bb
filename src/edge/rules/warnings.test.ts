/** What the log of a build says about rules that cannot be applied: the file, the line, and why. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rounds } from '../../../test/support/long.ts'
import { compileRules, type RuleSources } from './compile.ts'
import { RULE_LIMITS } from './limits.ts'

const compile = (texts: RuleSources['texts'], more: Partial<RuleSources> = {}) =>
  compileRules({ texts, basePath: '', allowedHosts: [], ...more })

/** Each line of the text is a rule that is refused: the warning names its line, and the reason matches. */
function refuses(file: keyof RuleSources['texts'], lines: readonly [text: string, why: RegExp][]) {
  const { rules, warnings } = compile({ [file]: lines.map(([text]) => text).join('\n') })
  assert.equal(rules, undefined)
  assert.equal(warnings.length, lines.length, warnings.join('\n'))
  for (const [at, [text, why]] of lines.entries()) {
    assert.ok(warnings[at]?.startsWith(`${file}, line ${at + 1}: `), warnings[at])
    assert.match(warnings[at] ?? '', why, text)
  }
}

test('a line of _redirects that cannot be applied is a warning with its line', () => {
  refuses('_redirects', [
    ['/ /us 302 Country=us', /condition "Country".*not supported/],
    ['/ /de 302 Language=de', /condition "Language"/],
    ['/* /preview/:splat 302 Cookie=preview', /condition "Cookie"/],
    ['/admin/* /admin/:splat 200! Role=admin', /condition "Role"/],
    ['/a', /no destination/],
    ['/a b', /no destination: one begins with/],
    ['/a /b 418', /status 418 is not supported/],
    ['/a /b soon', /"soon" stands where a status/],
    ['a /b', /must begin with "\/"/],
    ['https://blog.example.com/* /blog/:splat', /host name/],
    ['/a //evil.example', /begins with "\/\/"/],
    ['/a https://user@example.com/', /host of its destination/],
    ['/a/* https://:splat.example.com/', /without a placeholder/],
    ['/a/* https://example.com:splat', /without a placeholder/],
    ['/*/b/* /c', /more than one "\*"/],
    ['/:a/:a /c', /":a" twice/],
    ['/a /b/:splat', /uses :splat/],
    ['/a?b=1 /c', /has a "\?"/],
    ['/a /a', /to itself/],
    ['/api/* https://api.example.com/:splat 200', /does not allow.*rewriteHosts/],
    ['/a https://api.example.com/b 404', /cannot be used with another host/],
    [`/${'a'.repeat(RULE_LIMITS.textLength)} /b`, /more than 4096 characters/],
    [`/${'a/'.repeat(RULE_LIMITS.segments + 1)} /b`, /more than 100 segments/],
    [`/a/* /${':splat/'.repeat(11)}`, /more than 10 placeholders/],
    [`/a ${Array.from({ length: 17 }, (_, n) => `p${n}=1`).join(' ')} /b`, /more than 16 query parameters/],
  ])
})

test('a header that cannot be set is a warning with its line, and the others of its path apply', () => {
  const { rules, warnings } = compile({
    _headers: [
      'X-Early: 1',
      '/*',
      '  Content-Length: 5',
      '  Transfer-Encoding: chunked',
      '  Connection: close',
      '  Set-Cookie: a=b',
      '  ETag: "x"',
      '  ! Date',
      '  Bad Name: x',
      '  X-Empty:',
      '  nonsense',
      '  X-Control: a\u0001b',
      '  X-Unicode: ü',
      '  X-Good: yes',
      'https://example.com/*',
      '  X-Host: 1',
    ].join('\n'),
  })
  assert.deepEqual(
    warnings.map((warning) => warning.replace(/^_headers, line (\d+): .*$/s, '$1')),
    ['1', '3', '4', '5', '6', '7', '8', '9', '10', '11', '12', '13', '15'],
  )
  assert.match(warnings[1] ?? '', /"Content-Length" cannot be changed, because the edge sets it itself/)
  assert.match(warnings[10] ?? '', /control character/)
  assert.deepEqual(
    rules?.headers.map(({ set }) => set),
    [[['x-good', 'yes']]],
  )
})

test('a password of Netlify is not sent to visitors as a header, and its warning does not repeat it', () => {
  const { rules, warnings } = compile({ _headers: '/private/*\n  Basic-Auth: ann:s3cret\n' })
  assert.equal(rules, undefined)
  assert.match(warnings.join(), /^_headers, line 2: Basic-Auth protects nothing here/)
  assert.doesNotMatch(warnings.join(), /s3cret/)
})

test('netlify.toml: a table that cannot be applied is a warning with the line where it begins', () => {
  const { rules, warnings } = compile({
    'netlify.toml': `[build]
  publish = "dist"

[[redirects]]
  from = "/a"
  to = "/b"

[[redirects]]
  from = "/"
  to = "/us"
  conditions = {Country = ["US"]}

[[redirects]]
  from = "/api/*"
  to = "/x/:splat"
  status = 200
  headers = {X-From = "Netlify"}

[[redirects]]
  to = "/nowhere"

[[headers]]
  for = "/*"
  [headers.values]
    X-Frame-Options = "DENY"
    cache-control = '''
    max-age=0,
    no-cache'''

[[headers]]
  for = "/x"
  [headers.values]
    Content-Length = "5"
`,
  })
  assert.deepEqual(
    warnings.map((warning) => warning.slice(0, warning.indexOf(':'))),
    ['netlify.toml, line 8', 'netlify.toml, line 13', 'netlify.toml, line 19', 'netlify.toml, line 30'],
  )
  assert.equal(rules?.redirects.length, 1)
  assert.deepEqual(rules?.headers[0]?.set, [
    ['x-frame-options', 'DENY'],
    ['cache-control', 'max-age=0, no-cache'],
  ])
})

test('netlify.toml and vercel.json that cannot be read are one warning, and the other files apply', () => {
  const { rules, warnings } = compile({ _redirects: '/a /b', 'netlify.toml': 'a = 1\nb = [', 'vercel.json': '{"a"' })
  assert.equal(rules?.redirects.length, 1)
  assert.match(warnings[0] ?? '', /^netlify\.toml, line 2: the file is not valid TOML/)
  assert.match(warnings[1] ?? '', /^vercel\.json: it is not valid JSON/)
  assert.equal(warnings.length, 2)
})

test('vercel.json: an entry that cannot be applied is a warning with the line where it begins', () => {
  const { rules, warnings } = compile({
    'vercel.json': `{
  "cleanUrls": false,
  "redirects": [
    { "source": "/a", "destination": "/b" },
    { "source": "/:path((?!uk/).*)", "destination": "/uk/:path*" },
    {
      "source": "/c", "destination": "/d",
      "has": [{ "type": "header", "key": "x", "value": "{[,:" }]
    },
    { "source": "/:id(\\\\d+)", "destination": "/d" },
    { "source": "/e/:a-:b", "destination": "/d" },
    { "source": "/(a|b)", "destination": "/d" },
    { "source": "/:a*/:b*", "destination": "/d" },
    { "source": "/f", "destination": "/g", "statusCode": 299 },
    "nonsense", { "source": 5, "destination": "/g" }
  ],
  "rewrites": { "source": "/h" },
  "headers": [
    { "source": "/(.*)", "headers": [{ "key": "X-A", "value": "1" }] },
    { "source": "/(.*)", "headers": [{ "key": "Connection", "value": "1" }] },
    { "source": "/x", "missing": [], "headers": [] }
  ],
  "routes": []
}`,
  })
  assert.deepEqual(
    warnings.map((warning) => Number(/^vercel\.json, line (\d+): /.exec(warning)?.[1])),
    [2, 5, 6, 10, 11, 12, 13, 14, 15, 15, 17, 20, 21, 23],
  )
  assert.equal(rules?.redirects.length, 1)
  assert.equal(rules?.headers.length, 1)
})

test('the limits are named, and what is within them applies', () => {
  const exact = Array.from({ length: RULE_LIMITS.exactRedirects + 2 }, (_, n) => `/old/${n} /new`)
  const patterns = Array.from({ length: RULE_LIMITS.patternRedirects + 2 }, (_, n) => `/p/${n}/* /new`)
  const { rules, warnings } = compile({ _redirects: [...exact, ...patterns].join('\n') })
  assert.equal(rules?.redirects.length, RULE_LIMITS.exactRedirects + RULE_LIMITS.patternRedirects)
  assert.equal(warnings.length, 2)
  assert.match(warnings[0] ?? '', /^_redirects, line 10001: there are more than 10000 redirects,/)
  assert.match(warnings[1] ?? '', /^_redirects, line 10503: there are more than 500 redirects with placeholders/)

  const paths = [
    ...Array.from({ length: RULE_LIMITS.exactHeaders }, (_, n) => `/h/${n}\n X-A: 1`),
    ...Array.from({ length: RULE_LIMITS.patternHeaders - 1 }, (_, n) => `/h/${n}/*\n X-A: 1`),
    ...Array.from({ length: 2 }, () => '/h/0\n X-A: 2'),
  ]
  const many = Array.from({ length: RULE_LIMITS.headersPerRule + 1 }, (_, n) => ` X-${n}: 1`)
  const headers = compile({ _headers: ['/many', ...many, ...paths].join('\n') })
  assert.match(headers.warnings[0] ?? '', /line 102: a path has more than 100 headers/)
  assert.match(headers.warnings[1] ?? '', /there are more than 10000 paths with headers/)
  assert.match(headers.warnings[2] ?? '', /there are more than 500 paths with headers that have placeholders/)
  assert.equal(headers.rules?.headers.length, RULE_LIMITS.exactHeaders + RULE_LIMITS.patternHeaders)

  const bulky = Array.from({ length: 400 }, (_, n) => `/b/${n}\n X-A: ${'x'.repeat(4000)}\n X-B: ${'x'.repeat(4000)}`)
  assert.match(compile({ _headers: bulky.join('\n') }).warnings[0] ?? '', /more than 2 MiB of rules/)
})

test('very many bad lines, and a long base path before every rule, stay within the limits', () => {
  const bad = compile({ _redirects: 'x\n'.repeat(rounds({ short: 20_000, long: RULE_LIMITS.fileBytes / 2 })) })
  assert.equal(bad.warnings.length, RULE_LIMITS.warnings + 1)
  const lines = Array.from({ length: 1000 }, (_, n) => `/${n} /to`).join('\n')
  const { rules, warnings } = compile({ _redirects: lines }, { basePath: `/${'long'.repeat(1000)}` })
  assert.match(warnings[0] ?? '', /more than 2 MiB of rules/)
  assert.ok(JSON.stringify(rules).length <= RULE_LIMITS.storedBytes + 100)
})

test('only the first hundred warnings are shown, with the number of the others', () => {
  const { warnings } = compile({ _redirects: 'nonsense\n'.repeat(150) })
  assert.equal(warnings.length, 101)
  assert.match(warnings[100] ?? '', /^50 more/)
})

test('a rewrite to a file that the site does not have is a warning', () => {
  const { rules, warnings } = compile(
    { _redirects: '/api/* /.netlify/functions/x 200\n/* /index.html 200\n/a /caf%C3%A9/ 404\n/b/* /b/:splat 200' },
    { isFile: (address) => address === '/index.html' || address === '/café/index.html' },
  )
  assert.equal(rules?.redirects.length, 4)
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', /^_redirects, line 1: the site has no file at its destination/)
})

test('a second rule for the same path, and a rule that a file hides, are warnings', () => {
  const { rules, warnings } = compile(
    { _redirects: '/a /b\n/a /c\n/about /x 301\n/about /x 301!\n/ /index.html 200\n/q id=:id /about' },
    { isFile: (address) => address === '/about.html' || address === '/index.html' },
  )
  assert.equal(rules?.redirects.length, 5)
  assert.equal(warnings.length, 2)
  assert.match(warnings[0] ?? '', /^_redirects, line 2: an earlier rule has the same path \(_redirects, line 1\)/)
  assert.match(warnings[1] ?? '', /^_redirects, line 3: the site has a file at this path/)
})
