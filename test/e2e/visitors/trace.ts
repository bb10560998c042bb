/** "Why do I see this version?": the answer is true, and reveals nothing that the caller must not know. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, nodeServer, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { service } from './service.ts'

const as = await service.login()
const viewer = await service.login('viewer')

const ask = (name: string, url: string) =>
  service.call(`/v1/${name}:trace?url=${encodeURIComponent(url)}`, { as: viewer })

async function trace(name: string, url: string): Promise<resources.Trace> {
  const answer = await ask(name, url)
  assert.equal(answer.status, 200, answer.text)
  const { timeline } = answer.json as resources.Trace
  assert.deepEqual(
    timeline,
    timeline.toSorted((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0)),
    'the newest is last',
  )
  assert.equal(timeline.at(-1)?.what, 'NOW')
  return answer.json
}

const stepsOf = ({ timeline }: resources.Trace): string[] => timeline.map(({ what }) => what)

/** Sets how long its pages may be stored, chooses one of two languages by a cookie, and changes its text on request. */
const shop = nodeServer(
  '',
  `
  const url = new URL(request.url, 'http://x')
  globalThis.version ??= 1
  if (url.pathname === '/change') { globalThis.version++; return response.end('changed') }
  if (url.pathname === '/private') response.setHeader('cache-control', 'private, max-age=60')
  if (url.pathname === '/cookie') response.setHeader('set-cookie', 'session=hush')
  if (url.pathname === '/kept') {
    response.setHeader('cache-control', 'public, s-maxage=600')
    response.setHeader('cache-tag', 'catalogue')
    response.setHeader('etag', '"version ' + globalThis.version + '"')
  }
  if (url.pathname === '/varied') {
    response.setHeader('cache-control', 'public, s-maxage=600')
    response.setHeader('vary', 'cookie')
  }
  response.write('version ' + globalThis.version)`,
)

test('without a deployment the trace says so', async () => {
  const { name } = await createEnvironment(service, as)
  const { verdict, origin, stored, timeline, deployment } = await trace(name, '/')
  assert.equal(verdict, 'Nothing is deployed to this environment yet.')
  assert.deepEqual([origin.kind, stored, deployment], ['NOTHING', [], undefined])
  assert.deepEqual(
    timeline.map(({ what }) => what),
    ['TRIGGER', 'NOW'],
  )
})

test('for static files the trace names the file that is served, and how it went live', async () => {
  const { name, url } = await createEnvironment(service, as)
  const files = page('a static page')
  const done = await deploy(service, as, name, files)
  for (const address of ['/', `${url}/`]) {
    const found = await trace(name, address)
    assert.match(found.verdict, /^Visitors get the file \/index\.html of the deployment that went live \d+ s ago\.$/)
    assert.equal(found.url, `${url}/`)
    assert.deepEqual([found.deployment, found.build], [done.metadata.deployment, done.metadata.build])
    const digest = createHash('sha256').update(String(files['index.html'])).digest('hex')
    assert.deepEqual([found.origin.kind, found.origin.status, found.origin.digest], ['FILE', 200, digest])
    assert.deepEqual(stepsOf(found), ['TRIGGER', 'BUILD', 'LIVE', 'NOW'])
    assert.equal(found.timeline[2]?.resource, done.metadata.deployment)
  }
  assert.match((await trace(name, '/nothing-here')).verdict, /^There is no file for this address/)
})

test('a rebuild that changed nothing and a failed build are listed, with what stays live', async () => {
  const { name } = await createEnvironment(service, as)
  await deploy(service, as, name, page('what stays'))
  const asked = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body: {} })
  await untilDone(service, as, asked.json.name)
  assert.match((await trace(name, '/')).verdict, /; the last build, \d+ s ago, left the same output, so nothing was/)
  const broken = { 'package.json': JSON.stringify({ scripts: { build: 'exit 3' } }) }
  await deploy(service, as, name, broken)
  const found = await trace(name, '/')
  assert.match(found.verdict, /^Visitors get the file .*; the last build failed \d+ s ago \(BUILD_SCRIPT_FAILED\), so/)
  assert.deepEqual(stepsOf(found), ['TRIGGER', 'BUILD', 'LIVE', 'TRIGGER', 'BUILD', 'NOW'])
})

test('a deployment that was made live again is listed with its time', async () => {
  const { name } = await createEnvironment(service, as)
  const older = await deploy(service, as, name, page('older'))
  await deploy(service, as, name, page('newer'))
  const asked = await service.call(`/v1/${older.metadata.deployment}:activate`, { method: 'POST', as })
  await untilDone(service, as, asked.json.name)
  const found = await trace(name, '/')
  assert.match(found.verdict, /; an older deployment was made live again after the last build\.$/)
  assert.deepEqual(stepsOf(found).slice(-3), ['TRIGGER', 'LIVE', 'NOW'])
  assert.equal(found.timeline.at(-3)?.resource, asked.json.name)
})

const app = await createEnvironment(service, as, {
  body: {
    displayName: 'Shop',
    branch: 'uploadable',
    cmsEnvironment: 'cms',
    shellVariables: [{ key: 'TOKEN', value: 'not-for-your-eyes' }],
  },
})
assert.equal((await deploy(service, as, app.name, shop)).error, undefined)

const NOT_STORED: [string, RegExp][] = [
  ['/private', /since it says cache-control: private, max-age=60\.$/],
  ['/cookie', /since its answer sets a cookie\.$/],
  ['/plain', /does not say how long it may be kept\.$/],
]

for (const [path, why] of NOT_STORED) {
  test(`${path} is not stored, and the trace says why`, async () => {
    await siteAnswer(service, app.url, path)
    const found = await trace(app.name, path)
    assert.deepEqual(found.stored, [])
    assert.match(found.verdict, /^Nothing is stored for this address: visitors are answered by the app itself/)
    assert.match(found.verdict, why)
    assert.deepEqual([found.origin.kind, found.origin.status], ['APP', 200])
  })
}

test('a stored response is listed with its age, why it is stored, and whether the app still answers the same', async () => {
  assert.equal((await siteAnswer(service, app.url, '/kept')).text, 'version 1')
  const first = await trace(app.name, '/kept')
  assert.match(
    first.verdict,
    /^Visitors get a copy that the edge stored \d+ s ago, and the app answers the same now\.$/,
  )
  const [copy] = first.stored
  assert.deepEqual(
    [copy?.status, copy?.fresh, copy?.deployment, copy?.tags, copy?.comparison],
    [200, true, first.deployment, ['catalogue'], 'SAME'],
  )
  assert.match(copy?.lifetimeFrom ?? '', /s-maxage=600/)
  await siteAnswer(service, app.url, '/change')
  assert.equal((await siteAnswer(service, app.url, '/kept')).text, 'version 1', 'the copy is fresh')
  const later = await trace(app.name, `${app.url}/kept`)
  assert.match(
    later.verdict,
    /while the app answers something else by now: .* for another \d+ \w+ \(.*s-maxage=600\), unless/,
  )
  assert.equal(later.stored[0]?.comparison, 'DIFFERENT')
  assert.deepEqual(stepsOf(later).slice(-2), ['STORED', 'NOW'])
})

test('a trace changes nothing: neither stored responses nor how often they were used', async () => {
  const before = (await trace(app.name, '/kept')).stored[0]
  await trace(app.name, '/never-visited')
  const [after] = (await trace(app.name, '/kept')).stored
  assert.deepEqual([after?.hits, after?.storeTime], [before?.hits, before?.storeTime])
  assert.deepEqual((await trace(app.name, '/never-visited')).stored, [])
})

test('after a purge nothing is stored, and the purge is in the list', async () => {
  const purged = await service.call(`/v1/${app.name}:clearCache`, { method: 'POST', as, body: { paths: ['/kept'] } })
  assert.equal(purged.status, 200, purged.text)
  const found = await trace(app.name, '/kept')
  assert.deepEqual(found.stored, [])
  assert.deepEqual(stepsOf(found).slice(-2), ['PURGE', 'NOW'])
  assert.match(found.timeline.at(-2)?.detail ?? '', /^\/kept was purged, by a call of the API\.$/)
  assert.equal((await siteAnswer(service, app.url, '/kept')).text, 'version 2')
})

test("a trace does not show what visitors sent, an app's cookies or the values of variables", async () => {
  await new Promise<void>((resolve, reject) => {
    const { hostname, port } = new URL(service.edge)
    const headers = { host: new URL(app.url).host, cookie: 'session=of-a-visitor' }
    request({ host: hostname, port, path: '/varied', headers, agent: false }, (response) => {
      response.resume().once('end', resolve)
    })
      .once('error', reject)
      .end()
  })
  const varied = await ask(app.name, '/varied')
  assert.equal(varied.json.stored.length, 1)
  assert.deepEqual(varied.json.stored[0].variant, { cookie: '(hidden)' })
  for (const { text } of [varied, await ask(app.name, '/cookie'), await ask(app.name, '/kept')]) {
    assert.doesNotMatch(text, /of-a-visitor|hush|not-for-your-eyes/)
  }
})

test('an address that is not at a host of the environment is refused, and names the field', async () => {
  const other = await createEnvironment(service, as)
  for (const given of [`${other.url}/`, 'https://elsewhere.example/', 'ftp://x/', 'news', '', 'a'.repeat(5000)]) {
    const refused = await ask(app.name, given)
    assert.deepEqual([refused.status, refused.reason], [400, 'FIELD_INVALID'], given.slice(0, 50))
    assert.equal(refused.json.error.details[1].fieldViolations[0].field, 'url')
  }
  assert.equal((await service.call(`/v1/${app.name}:trace`, { as: viewer })).status, 400)
  assert.equal((await service.call(`/v1/${app.name}:trace?url=/`, { method: 'POST', as })).status, 405)
})

test('a custom host name of the environment works like its own', async () => {
  const domains = ['www.trace.example']
  await service.call(`/v1/${app.name}/domains:replace`, { method: 'POST', as, body: { domains } })
  const found = await trace(app.name, 'https://www.trace.example/plain')
  assert.deepEqual([found.url, found.origin.kind], ['https://www.trace.example/plain', 'APP'])
})
