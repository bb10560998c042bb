/** Redirects, rewrites and headers that a static site brings in its files, from the upload to the visitor. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, type Files, nodeServer, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'

const api = createServer((request, response) =>
  response.end(`${request.method} ${request.url} at ${request.headers.host}`),
)
await once(api.listen(0, '127.0.0.1'), 'listening')
after(() => {
  api.close()
  api.closeAllConnections()
})
const apiHost = `127.0.0.1:${(api.address() as AddressInfo).port}`

const service = await startService({ after }, { settings: { HEADLAND_REWRITE_HOSTS: `${apiHost},*.example.org` } })
const as = await service.login()

const logOf = async ({ metadata }: resources.Operation): Promise<string> =>
  (await service.call(`/v1/${metadata.build}/log`, { as })).text

/** A site whose build copies the folder `site` to the output. */
const site = (files: Files): Files => ({
  'package.json': JSON.stringify({ scripts: { build: 'node build.js' } }),
  'build.js': `require('node:fs').cpSync('site', 'dist', { recursive: true, verbatimSymlinks: true })`,
  'site/index.html': '<h1>home</h1>',
  'site/about.html': '<h1>about</h1>',
  'site/404.html': '<h1>lost</h1>',
  ...files,
})

test('the rules of all four files apply, and what cannot be applied is in the log with its line', async () => {
  const { name, url } = await createEnvironment(service, as)
  const done = await deploy(
    service,
    as,
    name,
    site({
      'site/_redirects': `# moved pages
/old/* /new/:splat
/ /de 302 Country=de
/about /elsewhere
/forced /about 302!
/store id=:id /shop/:id 301
/app/* /index.html 200
/closed /404 410
/api/* http://${apiHost}/v1/:splat 200
/other/* https://not-allowed.example.com/:splat 200
`,
      'site/_headers': `/*
  X-Frame-Options: DENY
  Content-Length: 5
/about
  ! X-Frame-Options
  Cache-Control: public, max-age=60
`,
      'netlify.toml': `[build]
  publish = "dist"

[[redirects]]
  from = "/toml"
  to = "/about"
  status = 303

[[redirects]]
  from = "/member/*"
  to = "/x"
  conditions = {Role = ["admin"]}
`,
      'vercel.json': `{
  "redirects": [
    { "source": "/vercel/:path*", "destination": "/v/:path*", "permanent": false },
    { "source": "/:id(\\\\d+)", "destination": "/number" }
  ]
}`,
    }),
  )
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  const log = await logOf(done)
  for (const line of [
    'Warning: _redirects, line 3: it has the condition "Country"',
    'Warning: _redirects, line 4: the site has a file at this path',
    'Warning: _redirects, line 10: it rewrites to https://not-allowed.example.com, a host that the operator',
    'Warning: _headers, line 3: "Content-Length" cannot be changed',
    'Warning: netlify.toml, line 9: it has the condition "Role"',
    'Warning: vercel.json, line 4: its path has a regular expression',
    'The site has 9 redirects and rewrites and 2 rules for headers.',
  ])
    assert.ok(log.includes(line), `${line}\n${log}`)
  assert.equal(log.split('Warning: ').length - 1, 6, log)

  const get = async (path: string) => {
    const { status, headers, text } = await siteAnswer(service, url, path)
    return status < 300 || status >= 400 ? [status, text] : [status, headers.location]
  }
  assert.deepEqual(await get('/old/a/b?x=1'), [301, '/new/a/b?x=1'])
  assert.deepEqual(await get('/'), [200, '<h1>home</h1>'])
  assert.deepEqual(await get('/about'), [200, '<h1>about</h1>'])
  assert.deepEqual(await get('/forced'), [302, '/about'])
  assert.deepEqual(await get('/store?id=7&a=b'), [301, '/shop/7?a=b'])
  assert.deepEqual(await get('/app/deep/link'), [200, '<h1>home</h1>'])
  assert.deepEqual(await get('/closed'), [410, '<h1>lost</h1>'])
  assert.deepEqual(await get('/api/items?page=2'), [200, `GET /v1/items?page=2 at ${apiHost}`])
  assert.deepEqual(await get('/other/x'), [404, '<h1>lost</h1>'])
  assert.deepEqual(await get('/toml'), [303, '/about'])
  assert.deepEqual(await get('/vercel/a'), [307, '/v/a'])
  assert.deepEqual(await get('/_redirects'), [404, '<h1>lost</h1>'])
  assert.deepEqual(await get('/_headers'), [404, '<h1>lost</h1>'])

  // The second time out of memory.
  for (let round = 0; round < 2; round++) {
    assert.equal((await siteAnswer(service, url, '/')).headers['x-frame-options'], 'DENY')
    const about = (await siteAnswer(service, url, '/about')).headers
    assert.deepEqual([about['x-frame-options'], about['cache-control']], [undefined, 'public, max-age=60'])
  }
  const traced = await service.call(`/v1/${name}:trace?url=${encodeURIComponent('/old/a?x=1')}`, { as })
  const { kind, status, location } = traced.json.origin
  assert.deepEqual([kind, status, location], ['REDIRECT', 301, '/new/a?x=1'])
})

test('rules outside of the output belong to the deployment: a change switches, and a rollback restores them', async () => {
  const { name, url } = await createEnvironment(service, as)
  const siteTo = (to: string) => site({ 'netlify.toml': `[[redirects]]\nfrom = "/x"\nto = "${to}"\n` })
  const locationOf = async () => (await siteAnswer(service, url, '/x')).headers.location
  const first = await deploy(service, as, name, siteTo('/one'))
  assert.equal(await locationOf(), '/one')
  const second = await deploy(service, as, name, siteTo('/two'))
  assert.equal(second.metadata.unchanged, undefined, 'the same files with other rules are another output')
  assert.equal(await locationOf(), '/two')
  assert.equal((await deploy(service, as, name, siteTo('/two'))).metadata.unchanged, true)
  const back = await service.call(`/v1/${first.metadata.deployment}:activate`, { method: 'POST', as })
  assert.equal((await untilDone(service, as, back.json.name)).error, undefined)
  assert.equal(await locationOf(), '/one')
})

test('a file of rules that is a link is not followed, and is a warning', async () => {
  const { name, url } = await createEnvironment(service, as)
  const done = await deploy(
    service,
    as,
    name,
    site({
      'build.js': `const fs = require('node:fs')
fs.cpSync('site', 'dist', { recursive: true })
fs.symlinkSync('/etc/passwd', 'dist/_redirects')
fs.writeFileSync('dist/_headers', '/*\\n X-A: 1\\n' + '#'.repeat(1024 * 1024))`,
    }),
  )
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  const log = await logOf(done)
  for (const file of ['_redirects', '_headers'])
    assert.ok(log.includes(`Warning: ${file}: it must be a regular file of at most 1 MiB. It is left out.`), log)
  assert.ok(!log.includes('root:'))
  assert.equal((await siteAnswer(service, url, '/')).headers['x-a'], undefined)
})

test('an app with a server answers by itself, and the log says that rules do not apply', async () => {
  const { name, url } = await createEnvironment(service, as)
  const rules = { redirects: [{ source: '/a', destination: '/b' }] }
  const done = await deploy(service, as, name, { ...nodeServer('mine'), 'vercel.json': JSON.stringify(rules) })
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  assert.match(await logOf(done), /Warning: vercel\.json: redirects, rewrites and headers apply to static sites only/)
  assert.equal((await siteAnswer(service, url, '/a')).text, 'mine')
})
