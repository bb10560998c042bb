/**
 * What the documentation of each format says, as a table: rules, a request, and the answer. A site with these files stands
 * behind all of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lookUp } from '../static/look-up.ts'
import type { StaticFile } from '../static/types.ts'
import { compileRules, type RuleSources } from './compile.ts'
import { createMatcher } from './matcher.ts'

const FILES = [
  '/index.html',
  '/about.html',
  '/blog/index.html',
  '/app/index.html',
  '/en/404.html',
  '/store-closed.html',
  '/search/_color/red.html',
  '/photo.jpg',
  '/assets/site.css',
  '/404.html',
]

type Sources = Partial<Omit<RuleSources, 'texts'>> & RuleSources['texts']

/** `301 /location`, `200 /file.html`, `404`, or `proxy https://host/path`. */
async function answer(sources: Sources, target: string): Promise<string> {
  const { basePath = '', allowedHosts = [], ...texts } = sources
  const { rules, warnings } = compileRules({ texts, basePath, allowedHosts })
  assert.deepEqual(warnings, [])
  const [path = '', query] = target.split(/\?(.*)/s)
  const addresses = new Set(FILES.map((file) => `${basePath}${file}`))
  const found = await lookUp(
    {
      singlePage: false,
      notFound: `${basePath}/404.html`,
      basePath,
      rules: rules && createMatcher(rules),
      find: (address) => (addresses.has(address) ? ({ size: 1, digest: '' } satisfies StaticFile) : undefined),
    },
    { path, query },
  )
  switch (found.kind) {
    case 'file':
      return `${found.status} ${found.path}`
    case 'redirect':
      return `${found.status} ${found.location}`
    case 'proxy':
      return `proxy ${found.origin}${found.path}`
    default:
      return found.kind
  }
}

type Case = [rules: Sources, asked: string, expected: string]

async function check(cases: readonly Case[]) {
  for (const [rules, asked, expected] of cases)
    assert.equal(await answer(rules, asked), expected, `${asked} with ${JSON.stringify(rules)}`)
}

const redirects = (text: string): Sources => ({ _redirects: text })

test('Netlify: paths, statuses and comments', () =>
  check([
    [redirects('/home /'), '/home', '301 /'],
    [redirects('# a comment\n\n/home  /  302 # and another\n'), '/home', '302 /'],
    [redirects('/news https://www.petsofnetlify.com'), '/news', '301 https://www.petsofnetlify.com/'],
    [
      redirects('/authors/c%C3%A9line /authors/about-c%C3%A9line'),
      '/authors/c%C3%A9line',
      '301 /authors/about-c%C3%A9line',
    ],
    [redirects('/authors/céline /authors/über'), '/authors/c%C3%A9line', '301 /authors/%C3%BCber'],
    [redirects('/a /b 303'), '/a', '303 /b'],
    [redirects('/a /b 307'), '/a', '307 /b'],
    [redirects('/a /b 308\r\n/c /d'), '/a', '308 /b'],
    [redirects('/Home /x'), '/home', '404 /404.html'],
    [redirects('/a /first\n/a/ /second 302!'), '/a', '301 /first'],
  ]))

test('Netlify: rewrites keep the URL, and 404 and 410 show a page with that status', () =>
  check([
    [redirects('/pass-through /index.html 200'), '/pass-through', '200 /index.html'],
    [redirects('/pass-through /about 200'), '/pass-through', '200 /about.html'],
    [redirects('/pass-through /blog 200'), '/pass-through', '200 /blog/index.html'],
    [redirects('/pass-through /blog/ 200'), '/pass-through', '200 /blog/index.html'],
    [redirects('/ecommerce /store-closed 404'), '/ecommerce', '404 /store-closed.html'],
    [redirects('/ecommerce /store-closed 410'), '/ecommerce', '410 /store-closed.html'],
    [redirects('/en/* /en/404.html 404'), '/en/nothing/here', '404 /en/404.html'],
    [redirects('/* /index.html 200'), '/any/path', '200 /index.html'],
    [redirects('/x /not-there 200'), '/x', '404 /404.html'],
    // The rule is applied once: its destination is a file.
    [redirects('/a /b 200\n/b /about 200'), '/a', '404 /404.html'],
    [redirects('/a /b 200\n/b /about 200'), '/b', '200 /about.html'],
  ]))

test('Netlify: splats and placeholders', () =>
  check([
    [redirects('/news/* /blog/:splat'), '/news/2004/01/10/my-post', '301 /blog/2004/01/10/my-post'],
    [redirects('/news/* /blog/:splat'), '/news/a/', '301 /blog/a/'],
    [redirects('/news/* /blog/:splat'), '/news', '301 /blog/'],
    [redirects('/news/* /blog/:splat'), '/newspaper', '404 /404.html'],
    [
      redirects('/news/:month/:date/:year/:slug /blog/:year/:month/:date/:slug'),
      '/news/02/12/2004/my-post',
      '301 /blog/2004/02/12/my-post',
    ],
    [redirects('/news/:year/:month /blog-:year-:month.html'), '/news/2004/02', '301 /blog-2004-02.html'],
    [redirects('/news/:year/* /:year?rest=:splat'), '/news/2004/a/b', '301 /2004?rest=a%2Fb'],
    [redirects('/wiki/Talk:Home /talk'), '/wiki/Talk:Home', '301 /talk'],
    [redirects('/wiki/Talk:Home /talk'), '/wiki/Talk:Else', '404 /404.html'],
    [redirects('/a/:b /x/:b'), '/a/100%25%2Fc', '301 /x/100%25%2Fc'],
    [redirects('/a/:b /x/:b'), '/a/b/c', '404 /404.html'],
  ]))

test('Netlify: query parameters', () =>
  check([
    [redirects('/store id=:id /blog/:id 301'), '/store?id=my-blog-post', '301 /blog/my-blog-post'],
    [redirects('/store id=:id /blog/:id 301'), '/store', '404 /404.html'],
    [redirects('/store id=:id /blog/:id 301'), '/store?id=', '404 /404.html'],
    [redirects('/store id=:id /blog/:id 301'), '/store?id=a&utm=x', '301 /blog/a?utm=x'],
    [redirects('/store id=7 /seven\n/store /other'), '/store?id=7', '301 /seven'],
    [redirects('/store id=7 /seven\n/store /other'), '/store?id=8', '301 /other?id=8'],
    [
      redirects('/path/* a=:x b=:y /other/:x/:y/:splat\n/path/* a=:x /one/:x/:splat\n/path/* /none/:splat'),
      '/path/p?b=2&a=1',
      '301 /other/1/2/p',
    ],
    [
      redirects('/path/* a=:x b=:y /other/:x/:y/:splat\n/path/* a=:x /one/:x/:splat\n/path/* /none/:splat'),
      '/path/p?a=1&c=3',
      '301 /one/1/p?c=3',
    ],
    [redirects('/search color=:v /search/_color/:v.html 200'), '/search?color=red', '200 /search/_color/red.html'],
    // All parameters are passed on.
    [redirects('/a /b'), '/a?x=1&y=%20', '301 /b?x=1&y=%20'],
    [redirects('/a https://example.com/b'), '/a?x=1', '301 https://example.com/b?x=1'],
    [redirects('/a /b?y=2#top'), '/a?x=1&y=1', '301 /b?y=2&x=1#top'],
  ]))

test('Netlify: a file takes precedence over a rule, unless the rule has an exclamation mark', () =>
  check([
    [redirects('/about /index.html 302'), '/about', '200 /about.html'],
    [redirects('/about /index.html 302!'), '/about', '302 /index.html'],
    [redirects('/* /index.html 200'), '/photo.jpg', '200 /photo.jpg'],
    [redirects('/* /index.html 200'), '/blog', '301 /blog/'],
    [redirects('/app/* /app/index.html 200!'), '/app/anything', '200 /app/index.html'],
    [redirects('/about /x\n/* /index.html 200!'), '/about', '200 /index.html'],
    [redirects('/* /index.html 200'), '/', '200 /index.html'],
  ]))

test('Netlify: a slash at the end makes no difference', () =>
  check([
    [redirects('/old /new'), '/old/', '301 /new'],
    [redirects('/old/ /new'), '/old', '301 /new'],
    [redirects('/old/:id /new/:id'), '/old/7/', '301 /new/7'],
  ]))

test('Cloudflare: examples of the documentation', () =>
  check([
    [redirects('/home302 / 302'), '/home302', '302 /'],
    [redirects('/querystrings /?query=string 301'), '/querystrings', '301 /?query=string'],
    [redirects('/twitch https://twitch.tv 302'), '/twitch', '302 https://twitch.tv/'],
    [redirects('/trailing /trailing/ 301'), '/trailing', '301 /trailing/'],
    [redirects('/trailing /trailing/ 301'), '/trailing/', '404 /404.html'],
    [redirects('/notrailing/ /notrailing 301'), '/notrailing/', '301 /notrailing'],
    [redirects('/notrailing/ /notrailing 301'), '/notrailing', '404 /404.html'],
    [redirects('/page/ /page2/#fragment 301'), '/page/', '301 /page2/#fragment'],
    [redirects('/blog2/* https://blog.my.domain/:splat 302'), '/blog2/a/b', '302 https://blog.my.domain/a/b'],
    [
      redirects('/products/:code/:name /products?code=:code&name=:name 302'),
      '/products/42/a%26b',
      '302 /products?code=42&name=a%26b',
    ],
    [redirects('/*.png /photo.jpg 200'), '/deep/in/a.png', '200 /photo.jpg'],
    [redirects('/a*z /x/:splat'), '/abc/xyz', '301 /x/bc/xy'],
    [redirects('/a/*/z /x/:splat'), '/a/b/c/z', '301 /x/b/c'],
    [redirects('/a/*/z /x/:splat'), '/a/z', '404 /404.html'],
  ]))

const toml = (text: string): Sources => ({ 'netlify.toml': text })

test('netlify.toml: the same rules as tables', () =>
  check([
    [toml('[[redirects]]\nfrom = "/old-path"\nto = "/new-path"'), '/old-path', '301 /new-path'],
    [toml('[[redirects]]\nfrom = "/old/*"\nto = "/new/:splat"\nstatus = 302'), '/old/a', '302 /new/a'],
    [toml('[[redirects]]\nfrom = "/about"\nto = "/x"\nforce = true'), '/about', '301 /x'],
    [toml('[[redirects]]\nfrom = "/about"\nto = "/x"'), '/about', '200 /about.html'],
    [toml('[[redirects]]\nfrom="/s"\nto="/p/:id"\nquery={id=":id"}'), '/s?id=7', '301 /p/7'],
    [toml('[[redirects]]\norigin="/s"\ndestination="/p/:id"\nparams={id=":id"}'), '/s?id=7', '301 /p/7'],
    [toml('[[redirects]]\nfrom="/*"\nto="/index.html"\nstatus="200"\n[build]\npublish="x"'), '/a', '200 /index.html'],
  ]))

const vercel = (content: object): Sources => ({ 'vercel.json': JSON.stringify(content) })
const moved = (source: string, destination: string, more: object = {}): Sources =>
  vercel({ redirects: [{ source, destination, ...more }] })
const rewritten = (source: string, destination: string): Sources => vercel({ rewrites: [{ source, destination }] })

test('vercel.json: redirects apply before files', () =>
  check([
    [moved('/me', '/profile.html'), '/me', '308 /profile.html'],
    [moved('/me', '/profile.html', { permanent: false }), '/me', '307 /profile.html'],
    [moved('/me', '/profile.html', { permanent: true }), '/me', '308 /profile.html'],
    [moved('/me', '/profile.html', { statusCode: 301 }), '/me', '301 /profile.html'],
    [moved('/about', '/x'), '/about', '308 /x'],
    [moved('/view-source', 'https://github.com/vercel/vercel'), '/view-source', '308 https://github.com/vercel/vercel'],
    [moved('/', '/lol/?path=foo'), '/?baz=10', '308 /lol/?path=foo&baz=10'],
    [moved('/a', '/b'), '/a/', '404 /404.html'],
    [moved('/a/', '/b'), '/a/', '308 /b'],
  ]))

test('vercel.json: the forms of path-to-regexp that are supported', () =>
  check([
    [moved('/old/:slug', '/new/:slug'), '/old/a', '308 /new/a'],
    [moved('/old/:slug', '/new/:slug'), '/old/a/b', '404 /404.html'],
    [moved('/blog2/:path*', '/news/:path*'), '/blog2/a/b', '308 /news/a/b'],
    [moved('/blog2/:path*', '/news/:path*'), '/blog2', '308 /news'],
    [moved('/blog2/:path+', '/news/:path+'), '/blog2', '404 /404.html'],
    [moved('/blog2/:path+', '/news/:path+'), '/blog2/a', '308 /news/a'],
    [moved('/docs/:lang?/intro', '/intro'), '/docs/intro', '308 /intro'],
    [moved('/docs/:lang?/intro', '/intro'), '/docs/en/intro', '308 /intro'],
    [moved('/docs/(.*)', '/d/$1'), '/docs/a/b', '308 /d/a/b'],
    [moved('/docs/(.*)', '/d/$1'), '/docs', '404 /404.html'],
    [moved('/:lang/docs/(.*)', '/$2/$1'), '/en/docs/x', '308 /x/en'],
    [moved('/docs/:rest(.*)', '/d/:rest'), '/docs/a/b', '308 /d/a/b'],
    [moved('/:file.html', '/p/:file'), '/a.html', '308 /p/a'],
    [moved('/v1\\.0/:a', '/one/:a'), '/v1.0/x', '308 /one/x'],
  ]))

test('vercel.json: rewrites apply after files', () =>
  check([
    [rewritten('/(.*)', '/index.html'), '/any/path', '200 /index.html'],
    [rewritten('/(.*)', '/index.html'), '/photo.jpg', '200 /photo.jpg'],
    [rewritten('/:path*', '/about'), '/x', '200 /about.html'],
  ]))

test('vercel.json: cleanUrls and trailingSlash', () =>
  check([
    [vercel({ cleanUrls: true }), '/about.html', '308 /about'],
    [vercel({ cleanUrls: true }), '/about', '200 /about.html'],
    [vercel({ cleanUrls: true }), '/index.html?x=1', '308 /?x=1'],
    [vercel({ cleanUrls: true }), '/blog/index.html', '308 /blog/'],
    [vercel({ cleanUrls: true, trailingSlash: false }), '/blog/index.html', '308 /blog'],
    [vercel({ cleanUrls: true, trailingSlash: true }), '/about.html', '308 /about/'],
    [vercel({ trailingSlash: false }), '/about/', '308 /about'],
    [vercel({ trailingSlash: false }), '/blog', '200 /blog/index.html'],
    [vercel({ trailingSlash: false }), '/', '200 /index.html'],
    [vercel({ trailingSlash: true }), '/about', '308 /about/'],
    [vercel({ trailingSlash: true }), '/about/', '200 /about.html'],
    [vercel({ trailingSlash: true }), '/photo.jpg', '200 /photo.jpg'],
    [vercel({ trailingSlash: true }), '/photo.jpg/', '308 /photo.jpg'],
    [vercel({ trailingSlash: true }), '/.well-known/x', '404 /404.html'],
  ]))

test('_redirects comes before netlify.toml, and that before vercel.json', () =>
  check([
    [
      {
        ...redirects('/a /1'),
        ...toml('[[redirects]]\nfrom = "/a*"\nto = "/2"\n[[redirects]]\nfrom = "/b*"\nto = "/2"'),
        ...moved('/:any', '/3'),
      },
      '/a',
      '301 /1',
    ],
    [{ ...toml('[[redirects]]\nfrom = "/b*"\nto = "/2"'), ...moved('/:any', '/3') }, '/bc', '301 /2'],
    [{ ...toml('[[redirects]]\nfrom = "/b*"\nto = "/2"'), ...moved('/:any', '/3') }, '/c', '308 /3'],
  ]))

const based = (text: string): Sources => ({ ...redirects(text), basePath: '/docs' })

test('paths of a site with a base path are below it, unless they are written with it', () =>
  check([
    [based('/old /new'), '/docs/old', '301 /docs/new'],
    [based('/old /new'), '/old', '404 /docs/404.html'],
    [based('/docs/old /docs/new'), '/docs/old', '301 /docs/new'],
    [based('/ /docs/about 302'), '/', '302 /docs/about'],
    [based('/* /index.html 200'), '/docs/x', '200 /docs/index.html'],
    [based('/out https://example.com'), '/docs/out', '301 https://example.com/'],
    [based('/news/:slug /:slug'), '/docs/news/a', '301 /docs/a'],
  ]))

const allowed = (text: string): Sources => ({ ...redirects(text), allowedHosts: ['api.example.com', '*.example.org'] })

test('a rewrite to a host that the operator allows is sent there', () =>
  check([
    [
      allowed('/api/* https://api.example.com/v1/:splat 200'),
      '/api/a/b?x=1',
      'proxy https://api.example.com/v1/a/b?x=1',
    ],
    [allowed('/api/* https://a.b.example.org/:splat 200'), '/api/a', 'proxy https://a.b.example.org/a'],
    // The other host would resolve them, and answer for another folder.
    [allowed('/api/* https://api.example.com/v1/:splat 200'), '/api/../secret', 'malformed'],
    [allowed('/api/* https://api.example.com/v1/:splat 200'), '/api/%2e%2E/secret', 'malformed'],
  ]))

test('what a visitor sends never makes a redirect lead to another host', () =>
  check([
    [redirects('/* /:splat 301!'), '//evil.example', '301 /evil.example'],
    [redirects('/* /:splat 301!'), '///evil.example/a', '301 /evil.example/a'],
    [redirects('/* /:splat 301!'), '/%2Fevil.example', '301 /%2Fevil.example'],
    [redirects('/* /:splat 301!'), '/%5Cevil.example', '301 /%5Cevil.example'],
    [redirects('/* /:splat 301!'), '/\\evil.example', '301 /%5Cevil.example'],
    [redirects('/a to=:to /x:to'), '/a?to=@evil.example/%0d%0aset-cookie:x', '301 /x@evil.example/%0D%0Aset-cookie:x'],
    [vercel({ trailingSlash: false }), '//evil.example/', '308 /evil.example'],
    [vercel({ trailingSlash: true }), '//evil', '308 /evil/'],
    [vercel({ cleanUrls: true }), '//evil.example/a.html', '308 /evil.example/a'],
  ]))
