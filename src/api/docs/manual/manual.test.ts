import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { BUILD_FAILURES, helpPage, PROBLEMS, type Reason } from '../../../contract/index.ts'
import { blocksOf } from './blocks.ts'
import { createManual } from './index.ts'
import { addressOf, readPages } from './pages.ts'
import { render } from './render.ts'
import { STYLE } from './style.ts'

const app = fastify()
createManual().register(app, (_request, reply) => reply.send('a page of the portal'))

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })
const all = await readPages()
const addresses = [...all.pages.keys(), '/docs/', ...all.sections.map(({ address }) => address).filter(Boolean)]

const bodyOf = (text: string) =>
  render(blocksOf(text), (target) => (target.startsWith('gone') ? undefined : target)).body.text
const idsOf = (page: string) => new Set([...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id))

test('every page of the documentation is served, with a title and no mark of Markdown left', async () => {
  assert.ok(all.pages.size > 80)
  for (const address of all.pages.keys()) {
    const answer = await get(address)
    assert.equal(answer.statusCode, 200, address)
    assert.equal(answer.body.match(/<h1/g)?.length, 1, address)
    const [, main = ''] = /<main[^>]*>([\s\S]*)<\/main>/.exec(answer.body) ?? []
    const prose = main.replaceAll(/<(pre|code)\b[^>]*>[\s\S]*?<\/\1>/g, '')
    assert.doesNotMatch(prose, /\*\*|\]\(|```|^\s*\||^#{1,6} |^\s*[-*] /m, address)
    assert.doesNotMatch(prose, /&lt;\/?[a-z]+&gt;/, address)
  }
})

test('every link on every page leads to a page, a picture or a heading that is there', async () => {
  const pages = new Map<string, string>()
  for (const address of addresses) pages.set(address, (await get(address)).body)
  for (const [address, page] of pages) {
    for (const [, target = ''] of page.matchAll(/(?:href|src)="([^"]*)"/g)) {
      if (/^https?:|^mailto:/.test(target) || ['/', '/docs', '/docs/style.css'].includes(target)) continue
      const [path = '', anchor] = target.split('#')
      const there = path === '' ? page : (pages.get(path) ?? (all.pictures.has(path) ? '' : undefined))
      assert.notEqual(there, undefined, `${address} links to ${target}`)
      if (anchor !== undefined) assert.ok(idsOf(there ?? '').has(anchor), `${address} links to ${target}`)
    }
  }
})

test('each reason of an error has a place in the documentation that its link leads to', async () => {
  const errors = idsOf((await get('/docs/reference/errors')).body)
  for (const reason of Object.keys(PROBLEMS) as Reason[]) {
    const [path = '', anchor] = helpPage(reason).split('#')
    assert.ok(all.pages.has(path), helpPage(reason))
    assert.ok(anchor === undefined ? BUILD_FAILURES.includes(reason as never) : errors.has(anchor), helpPage(reason))
  }
})

test('a table has no empty heading, which a screen reader would read out', () => {
  assert.match(bodyOf('| a | |\n|---|---|\n| b | c |\n'), /<th[^>]*>a<\/th><td role="cell"><\/td>/)
})

test('blocks nest as they are written', () => {
  assert.equal(
    bodyOf('# A `b`\n\ntext *em* and **`x`** here'),
    '<h1 id="a-b">A <code>b</code></h1>\n<p>text <em>em</em> and <strong><code>x</code></strong> here</p>\n',
  )
  assert.equal(
    bodyOf('- a\n  b\n- c\n  - d\n'),
    '<ul>\n<li>a\nb\n</li>\n<li>c\n<ul>\n<li>d\n</li>\n</ul>\n</li>\n</ul>\n',
  )
  assert.equal(
    bodyOf('2. a\n\n   ```sh\n   x\n\n   y\n   ```\n3. b'),
    '<ol start="2">\n<li><p>a</p>\n<pre tabindex="0"><code>x\n\ny</code></pre>\n</li>\n<li><p>b</p>\n</li>\n</ol>\n',
  )
  assert.match(
    bodyOf('| a | b |\n|---|---|\n| `NAME` | x \\| `y` |\n'),
    /<tr role="row" id="NAME"><td role="cell" data-label="a"><code>NAME<\/code><\/td><td role="cell" data-label="b">x \| <code>y<\/code><\/td><\/tr>/,
  )
  assert.equal(bodyOf('> a\n> b\n\n---\n'), '<blockquote><p>a\nb</p>\n</blockquote>\n<hr>\n')
  assert.equal(bodyOf('```\nnever closed'), '<pre tabindex="0"><code>never closed</code></pre>\n')
})

test('the content of a page is text, and a link to an unserved page is only its words', () => {
  assert.equal(
    bodyOf('<script>alert(1)</script> & "x"'),
    '<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;x&quot;</p>\n',
  )
  assert.equal(
    bodyOf('[a `b`](gone/c) ![p](q.png) <https://a.test/?b="c>'),
    '<p>a <code>b</code> <img src="q.png" alt="p" loading="lazy"> <a href="https://a.test/?b=&quot;c" rel="noreferrer">https://a.test/?b=&quot;c</a></p>\n',
  )
  assert.match(bodyOf('## Same\n\n## Same\n'), /id="same"[\s\S]*id="same-1"/)
})

test('pages allow no script, no frame and nothing from elsewhere', async () => {
  for (const address of ['/docs/', '/docs/guides/deploy', '/docs/search?q=a', '/docs/nothing']) {
    const { headers, body } = await get(address)
    const policy = String(headers['content-security-policy'])
    assert.match(
      policy,
      /^default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'/,
    )
    assert.doesNotMatch(policy, /unsafe|script-src|https?:|\*/)
    assert.doesNotMatch(body, /<script|<style|style=| on[a-z]+=/i)
    assert.equal(headers['x-frame-options'], 'DENY')
  }
})

test('a path that leaves the documentation finds nothing', async () => {
  for (const path of [
    '/docs/../package.json',
    '/docs/%2e%2e/package.json',
    '/docs/..%2f..%2fpackage.json',
    '/docs/guides/../../package.json',
    '/docs/guides/..%2f..%2fsrc%2fmain.ts',
    '/docs//etc/passwd',
    '/docs/\\..\\package.json',
    '/docs/guides/deploy%00.md',
    '/docs/operate/headland.service',
    '/docs/../CHANGELOG',
    '/docs/constructor',
    '/docs/__proto__',
    `/docs/${'a/'.repeat(4000)}`,
  ]) {
    const answer = await get(path)
    assert.equal(answer.statusCode, 404, path)
    assert.doesNotMatch(answer.body, /"dependencies"|root:x/)
  }
})

test('a page that is not there says where to look, and programs see 404', async () => {
  const answer = await get('/docs/guides/nothing')
  assert.equal(answer.statusCode, 404)
  assert.match(answer.body, /There is no such page/)
  assert.match(answer.body, /<a href="\/docs\/">/)
})

test('other spellings of an address lead to the page', async () => {
  for (const path of ['/docs/guides/deploy.md', '/docs/guides/deploy/', '/docs/guides/README.md', '/docs/guides/']) {
    const answer = await get(path)
    assert.equal(answer.statusCode, 308, path)
    assert.equal((await get(String(answer.headers.location))).statusCode, 200)
  }
  assert.equal(addressOf('guides/README.md'), '/docs/guides')
})

test('the pages of an account that is called docs are still those of the portal', async () => {
  for (const path of ['/docs/apps', '/docs/apps/blog/environments/x', '/docs/users', '/docs/new-app']) {
    assert.equal((await get(path)).body, 'a page of the portal')
  }
})

test('a search finds the part of a page that has all of its words', async () => {
  const { body } = await get('/docs/search?q=PORT_NOT_BOUND')
  assert.match(body, /href="\/docs\/troubleshooting\/port-not-bound(?:#[\w-]+)?"/)
  assert.match((await get('/docs/search?q=rollback')).body, /href="\/docs\/guides\/deploy#roll-back"/)
  assert.match((await get('/docs/search?q=zzqqxx')).body, /Nothing has all of these words: zzqqxx/)
  assert.match((await get('/docs/search')).body, /Enter one or more words/)
})

test('what a search finds is where it says', async () => {
  const { body } = await get('/docs/search?q=install')
  const found = [...body.matchAll(/<li><a href="([^"]+)">/g)].map(([, address = '']) => address)
  const [hits = ''] = /<ol class="hits">[\s\S]*<\/ol>/.exec(body) ?? []
  const addresses = found.filter((address) => hits.includes(`"${address}"`))
  assert.ok(addresses.length >= 20)
  for (const address of addresses) {
    const [path = '', anchor] = address.split('#')
    const page = await get(path)
    assert.equal(page.statusCode, 200, address)
    if (anchor !== undefined) assert.ok(idsOf(page.body).has(anchor), address)
  }
})

test('the words of a search are shown as text, and only the first hundred characters of them', async () => {
  const { body } = await get(`/docs/search?q=${encodeURIComponent('"><img src=x onerror=alert(1)>')}`)
  assert.match(body, /&quot;&gt;&lt;img src=x/)
  assert.doesNotMatch(body, /<img src=x/)
  const long = await get(`/docs/search?q=${'w'.repeat(6000)}`)
  assert.equal(long.statusCode, 200)
  assert.doesNotMatch(long.body, /w{101}/)
  assert.equal((await get('/docs/search?q=a&q=b')).statusCode, 200)
})

test('a page is sent compressed, and not again to those who have it', async () => {
  const first = await get('/docs/guides/deploy', { 'accept-encoding': 'gzip' })
  assert.equal(first.headers['content-encoding'], 'gzip')
  const again = await get('/docs/guides/deploy', {
    'accept-encoding': 'gzip',
    'if-none-match': String(first.headers.etag),
  })
  assert.deepEqual([again.statusCode, again.body], [304, ''])
})

test('the colours are those of the portal', async () => {
  const tokens = await readFile(new URL('../../../../portal/src/look/tokens.css', import.meta.url), 'utf8')
  const colours = [...STYLE.matchAll(/^ {2}(--[\w-]+: .*;)$/gm)].map(([, line]) => line)
  assert.ok(colours.length > 10)
  for (const line of colours) assert.ok(tokens.includes(line ?? ''), line)
})

test('the columns do not depend on what arrives later, so the text does not move while a page loads', async () => {
  const found = new Set<boolean>()
  for (const address of addresses) {
    const { body } = await get(address)
    const isTwo = body.includes('<div class="columns two">')
    assert.equal(isTwo, !body.includes('<nav class="toc"'), address)
    found.add(isTwo)
  }
  assert.equal(found.size, 2, 'there are pages of both kinds')
  assert.doesNotMatch(STYLE, /:has\(/)
})

test('the page that is open is marked in the list, and the list follows the README of its folder', async () => {
  const { body } = await get('/docs/guides/deploy')
  assert.match(body, /<a href="\/docs\/guides\/deploy" aria-current="page">Deploy<\/a>/)
  assert.equal(body.match(/aria-current/g)?.length, 1)
  assert.deepEqual(
    all.sections[0]?.pages.slice(0, 2).map(({ title }) => title),
    ['First deploy in five minutes', 'Deploy'],
  )
})
