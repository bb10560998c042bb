import assert from 'node:assert/strict'
import { test } from 'node:test'
import { locationOf } from './answer.ts'
import { linksIn, sitemapIn } from './links.ts'
import { isErrorLine } from './log-errors.ts'
import { choosePages } from './pages.ts'
import { speedOf } from './speed.ts'

const hosts = new Set(['shop.sites.test:8080', 'shop.sites.test', 'www.shop.example'])
const place = { path: '/blog/first', hosts }

test('links and files of its own host are found, and those of others are not', () => {
  const html = `<!doctype html><link rel="stylesheet" href="/style.css"><LINK REL=icon HREF=/favicon.ico>
    <link rel="alternate stylesheet" href="/other.css"><link rel="preload" href="/later.js"><script src='app.js?v=1&amp;x=2'></script>
    <script>if (a < b && c > d) document.write("<img src=/x.png>")</script><img src="data:image/png;base64,AAAA">
    <a href="../about">About</a> <a class="x" href="https://www.shop.example/cart?id=1">Cart</a> <a href="#top">Top</a>
    <a href="http://169.254.169.254/latest/">inner</a><a href="//evil.example/x">other</a><a href="javascript:alert(1)">no</a>
    <img src="http://10.0.0.1/pixel.gif"><a href="/report.pdf">PDF</a><a href="mailto:a@example.com">mail</a>`
  const { pages, assets } = linksIn(html, place)
  assert.deepEqual(pages, ['/about', '/cart?id=1'])
  assert.deepEqual(assets, [
    { path: '/style.css', isNeeded: true },
    { path: '/favicon.ico', isNeeded: false },
    { path: '/blog/app.js?v=1&x=2', isNeeded: true },
  ])
})

test('addresses are relative to a base, and comments, scripts and links that robots should not follow are left out', () => {
  const html = `<base href="/app/"><script src="main-1a2b.js"></script><!-- <script src="/old.js"></script> --><!-->
    <script>const state = "<script src=\\"/gone.js\\">"</SCRIPT><a href="more">More</a><a rel="x nofollow" href="?add=5">Add</a>
    <a href="/api/cron">Cron</a><!-- <a href="/never">`
  assert.deepEqual(linksIn(html, place), {
    pages: ['/app/more'],
    assets: [{ path: '/app/main-1a2b.js', isNeeded: true }],
  })
})

test('a page with thousands of links or endless tags is read once, and few of its links are taken', () => {
  const many = Array.from({ length: 50_000 }, (_, n) => `<a href="/${n}">x</a><script src="/${n}.js"></script>`).join(
    '',
  )
  const { pages, assets } = linksIn(many, place)
  assert.deepEqual([pages.length, assets.length], [500, 60])
  for (const hostile of [
    '<a '.repeat(300_000),
    '<a href="'.repeat(100_000),
    `<a ${'='.repeat(900_000)}>`,
    '<'.repeat(1e6),
  ])
    assert.deepEqual(linksIn(hostile, place).pages, [])
})

test('the pages of a sitemap are its paths, also where it names the host of a later domain', () => {
  const xml = (...locs: string[]) => `<urlset>${locs.map((loc) => `<url><loc> ${loc} </loc></url>`).join('')}</urlset>`
  const later = xml('https://example.com/', 'https://example.com/a?b=1&amp;c=2', 'https://example.com/image.png')
  assert.deepEqual(sitemapIn(later, hosts).pages, ['/', '/a?b=1&c=2'])
  const mixed = xml('https://www.shop.example/own', 'https://example.com/other', 'file:///etc/passwd')
  assert.deepEqual(sitemapIn(mixed, hosts).pages, ['/own'])
  const index = '<sitemapindex><sitemap><loc>https://www.shop.example/posts.xml</loc></sitemap></sitemapindex>'
  assert.deepEqual(sitemapIn(index, hosts), { pages: [], sitemaps: ['/posts.xml'] })
})

test('masked and shortened paths, files and addresses of other hosts are not asked for', () => {
  const counted = [
    '/a',
    '/reset/{token}',
    '/users/{id}',
    '/u/{email}',
    `/${'x'.repeat(190)}…`,
    '/logo.svg',
    '//evil',
    '/a',
    '/b c',
  ]
  assert.deepEqual(choosePages(counted, 50), ['/', '/a'])
  assert.deepEqual(choosePages(['/a', '/', '/b'], 2), ['/a', '/'])
})

test('a redirect is compared by its path on its own host, and by the whole address elsewhere', () => {
  assert.equal(locationOf('next', '/blog/first', hosts), '/blog/next')
  assert.equal(locationOf('https://www.shop.example/x?y', '/', hosts), '/x?y')
  assert.equal(locationOf('https://www.shop.example/a', '/a', hosts), 'https://www.shop.example/a', 'it is no loop')
  assert.equal(locationOf('http://shop.sites.test/a', '/a', hosts), '/a')
  assert.equal(locationOf('http://10.0.0.1/', '/', hosts), 'http://10.0.0.1/')
  assert.equal(locationOf('http://[', '/', hosts), 'http://[')
})

test('the median and the 95th percentile are times that were measured', () => {
  assert.equal(speedOf([]), undefined)
  const hundred = Array.from({ length: 100 }, (_, n) => n + 1)
  assert.deepEqual(speedOf(hundred), { medianMilliseconds: 50, p95Milliseconds: 95 })
})

test('errors of a log are told from frames of a stack and from ordinary lines', () => {
  const lines = [
    'TypeError: x is not a function',
    '    at render (Error.js:1)',
    'GET /errors 200',
    ' ⨯ Error: no',
    'Unhandled rejection',
  ]
  assert.deepEqual(lines.filter(isErrorLine), [lines[0], lines[3], lines[4]])
})
