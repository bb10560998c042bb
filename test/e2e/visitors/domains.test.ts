/** Custom host names, from the call that sets them to the response to a visitor, on one service for all tests. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { after, test } from 'node:test'
import { deploy, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { type Login, startService } from '../../support/service/service.ts'
import { TIMEOUT_MS } from '../../support/until.ts'

const service = await startService(
  { after },
  { settings: { HEADLAND_LISTEN: '0.0.0.0:0', HEADLAND_PUBLIC_URL: 'https://portal.example.org' } },
)
await service.operator('accounts', 'create', 'other')
const [owner, viewer, stranger] = await Promise.all([
  service.login('owner'),
  service.login('viewer'),
  service.login('owner', 'other'),
])
const ours = await createEnvironment(service, owner)
const theirs = await createEnvironment(service, stranger, { account: 'other' })
await deploy(service, owner, ours.name, page('ours'))
await deploy(service, stranger, theirs.name, page('theirs'))

const replace = (as: Login, { name }: { name: string }, domains: unknown) =>
  service.call(`/v1/${name}/domains:replace`, { method: 'POST', as, body: { domains } })

const at = (host: string) => siteAnswer(service, `http://${host}`)

/** Everything that the edge sends for a host, byte for byte, but for the time. */
async function bytesAt(host: string): Promise<string> {
  const { hostname, port } = new URL(service.edge)
  const socket = connect(Number(port), hostname)
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('the edge is silent')))
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  await once(socket, 'close')
  return text.replace(/^date: .*\r\n/im, '')
}

/** A request as a proxy sends it: without credentials. */
const allowed = (domain: string, headers = {}) =>
  service.call(`/v1/domains:allowed?domain=${encodeURIComponent(domain)}`, { headers })

test('the site answers on a new domain with the next request, and the environment shows it', async () => {
  assert.equal((await at('www.example.com')).status, 404)
  const answer = await replace(owner, ours, ['www.example.com', 'MÜNCHEN.example.'])
  assert.equal(answer.status, 200, answer.text)
  const domains = ['www.example.com', 'xn--mnchen-3ya.example']
  const { etag, ...list } = answer.json
  assert.deepEqual(list, { domains, redirects: [], nextPageToken: '' })
  assert.match(etag, /^W\/"/)
  for (const host of [...domains, 'WWW.EXAMPLE.COM.', 'www.example.com:8081', new URL(ours.url).host]) {
    const { status, text } = await at(host)
    assert.deepEqual([status, /<p>(.*)<\/p>/.exec(text)?.[1]], [200, 'ours'], host)
  }
  assert.deepEqual((await service.call(`/v1/${ours.name}/domains`, { as: viewer })).json, answer.json)
  assert.deepEqual((await service.call(`/v1/${ours.name}`, { as: viewer })).json.domains, domains)
  const all = await service.call(`/v1/${ours.name.replace(/\/[^/]+$/, '')}`, { as: viewer })
  assert.deepEqual(all.json.environments[0].domains, domains)
})

test('a deployment does not change the domains, and goes live on them', async () => {
  const done = await deploy(service, owner, ours.name, page('ours again'))
  assert.deepEqual(done.response?.domains, ['www.example.com', 'xn--mnchen-3ya.example'])
  assert.match((await at('www.example.com')).text, /ours again/)
})

test('another account cannot take the name, and does not learn whose it is', async () => {
  assert.equal((await replace(stranger, theirs, ['theirs.example.com'])).status, 200)
  const answer = await replace(stranger, theirs, ['new.example.com', 'WWW.example.com'])
  assert.equal(answer.status, 409)
  assert.equal(answer.reason, 'DOMAIN_TAKEN')
  assert.deepEqual(answer.json.error.details[0].metadata, { domains: 'www.example.com' })
  assert.doesNotMatch(answer.text, new RegExp(`default|${ours.name.split('/').at(-1)}`))
  assert.match((await at('www.example.com')).text, /ours/)
  assert.match((await at('theirs.example.com')).text, /theirs/, 'their domains are unchanged')
  assert.equal((await at('new.example.com')).status, 404)
})

test('a viewer reads the list and cannot change it', async () => {
  assert.equal((await service.call(`/v1/${ours.name}/domains`, { as: viewer })).status, 200)
  assert.equal((await replace(viewer, ours, [])).reason, 'ROLE_TOO_WEAK')
})

test('names that cannot be served are refused by field, and nothing changes', async () => {
  const wrong = [
    '*.example.com',
    '127.0.0.1',
    '[::1]',
    'localhost',
    'www.localhost',
    new URL(ours.url).hostname,
    new URL(theirs.url).hostname,
    'portal.example.org',
    'a.portal.example.org',
    'www.example.com:80',
    'https://www.example.com',
    'nodot',
    'under_score.example.com',
    `${'a'.repeat(64)}.example.com`,
    'a b.example.com',
    'xn--a.example.com',
    '__proto__',
    '',
  ]
  const answer = await replace(owner, ours, ['www.example.com', ...wrong])
  assert.equal(answer.status, 400)
  assert.equal(answer.reason, 'FIELD_INVALID')
  assert.deepEqual(
    answer.json.error.details[1].fieldViolations.map(({ field }: { field: string }) => field),
    wrong.map((_, index) => `domains[${index + 1}]`),
  )
  for (const body of [undefined, 'www.example.com', [1], [null], ['a'.repeat(255)], { 0: 'www.example.com' }]) {
    assert.equal((await replace(owner, ours, body)).reason, 'FIELD_INVALID', JSON.stringify(body))
  }
  const many = Array.from({ length: 51 }, (_, index) => `site-${index}.example.com`)
  const tooMany = await replace(owner, ours, many)
  assert.deepEqual([tooMany.status, tooMany.json.error.details[0].metadata], [413, { limit: '50' }])
  assert.match((await at('www.example.com')).text, /ours/)
})

test('every replacement is in effect before its response, also for concurrent calls', async () => {
  for (let round = 0; round < 10; round++) {
    const name = `round-${round}.example.com`
    const [mine] = await Promise.all([
      replace(owner, ours, [name]).then(async ({ status }) => [status, (await at(name)).status]),
      replace(stranger, theirs, [`their-${name}`]),
    ])
    assert.deepEqual(mine, [200, 200])
    assert.equal((await at(`round-${round - 1}.example.com`)).status, 404)
    assert.match((await at(`their-${name}`)).text, /theirs/)
  }
})

test('a removed domain and one that never existed get the same response, byte for byte', async () => {
  await replace(owner, ours, ['gone.example.com'])
  assert.match(await bytesAt('gone.example.com'), /^HTTP\/1\.1 200 .*ours/s)
  await replace(owner, ours, [])
  const unknown = await bytesAt('does-not-exist.example.net')
  assert.match(unknown, /^HTTP\/1\.1 404 .*There is no site at this address/s)
  assert.equal(await bytesAt('gone.example.com'), unknown)
  assert.equal(await bytesAt(`does-not-exist.${new URL(ours.url).hostname.split('.').at(-1)}`), unknown)
})

test('domains that change while the edge is being restarted are served before the response', async () => {
  process.kill(service.edgePid(), 'SIGKILL')
  assert.equal((await replace(owner, ours, ['back.example.com'])).status, 200)
  assert.match((await at('back.example.com')).text, /ours/)
})

test('a proxy on this machine learns which names have a site, without credentials', async () => {
  const replaced = await replace(owner, ours, ['www.example.com'])
  assert.equal(replaced.status, 200, replaced.text)
  for (const name of ['www.example.com', 'WWW.example.com.', new URL(ours.url).hostname]) {
    const answer = await allowed(name)
    assert.deepEqual([answer.status, answer.text], [200, ''], name)
  }
  const unknown = await allowed('example.com')
  assert.equal(unknown.status, 404)
  assert.equal(unknown.reason, 'DOMAIN_NOT_FOUND')
  for (const name of ['localhost', 'unknown.localhost', '127.0.0.1', '*', 'a b', '']) {
    assert.equal((await allowed(name)).text, unknown.text, name)
  }
})

test('a caller behind a proxy gets the same response for every name', async () => {
  const unknown = await allowed('example.com')
  for (const header of ['x-forwarded-for', 'forwarded', 'via']) {
    const answer = await allowed('www.example.com', { [header]: '127.0.0.1' })
    assert.deepEqual([answer.status, answer.text], [404, unknown.text], header)
  }
})

const address = Object.values(networkInterfaces())
  .flatMap((of = []) => of)
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

test('a caller on another machine gets the same response for every name', { skip: !address }, async () => {
  const unknown = await allowed('example.com')
  // By the machine's own address, both ends of the connection are that address.
  const asked = request({
    host: address,
    port: new URL(service.api).port,
    path: '/v1/domains:allowed?domain=www.example.com',
    headers: { host: '127.0.0.1', 'x-real-ip': '127.0.0.1' },
    agent: false,
  }).end()
  const [response] = await once(asked, 'response')
  assert.deepEqual([response.statusCode, (await response.toArray()).join('')], [404, unknown.text])
})

test('an environment that is deleted frees its names at once', async () => {
  const { name } = await createEnvironment(service, owner)
  await replace(owner, { name }, ['freed.example.com'])
  assert.equal((await replace(stranger, theirs, ['freed.example.com'])).reason, 'DOMAIN_TAKEN')
  const asked = await service.call(`/v1/${name}`, { method: 'DELETE', as: owner })
  assert.equal((await replace(stranger, theirs, ['freed.example.com'])).status, 200)
  assert.match((await at('freed.example.com')).text, /theirs/)
  await untilDone(service, owner, asked.json.name)
  assert.match((await at('freed.example.com')).text, /theirs/)
})
