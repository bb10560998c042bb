/** Builds that survive their CMS: a real HTTPS server with a certificate of a private CA, and builds in their sandboxes. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { resources } from '../../../src/contract/index.ts'
import { HAS_OPENSSL, makeCertificate } from '../../support/edge/tls.ts'
import { reasonToSkip, startResolver } from '../../support/machine/network.ts'
import { deploy, type Files, reasonOf, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { triggersOf } from '../../support/service/webhooks.ts'
import { addAddress } from '../../support/service/wordpress.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.push(end) }
after(async () => {
  for (const end of ends.toReversed()) await end()
})

const skip = (await reasonToSkip(file)) ?? (HAS_OPENSSL ? false : 'needs openssl')
const address = skip ? '127.0.0.1' : await addAddress(file)
const HOST = 'cms.example.test'
const TOKEN = 'token-of-the-cms-71c3f0'
const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))

type Post = { id: number; title: string }
/** Returns whether it has not answered. */
type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

const { key, cert } = skip ? { key: '', cert: '' } : await makeCertificate(file, { names: [HOST] })

/** A CMS with REST and GraphQL. `fault` answers in its place. */
const cms = {
  posts: [
    { id: 1, title: 'one' },
    { id: 2, title: 'two' },
  ] as Post[],
  fault: undefined as Answer | undefined,
  asked: [] as string[],
  port: 0,
  server: undefined as Server | undefined,
}

async function startCms() {
  cms.server = createServer({ key, cert }, async (request, response) => {
    cms.asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`)
    if (cms.fault && cms.fault(request, response) !== true) return
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return response.writeHead(401).end()
    let body = ''
    for await (const chunk of request) body += chunk
    response.setHeader('content-type', 'application/json').setHeader('set-cookie', 'session=of-the-cms')
    if (request.url === '/broken') return response.writeHead(500).end('{}')
    if (request.method === 'POST')
      return response.end(JSON.stringify({ data: { count: cms.posts.length, echo: body.length } }))
    response.end(JSON.stringify(cms.posts))
  })
  cms.server.listen(cms.port, address)
  await once(cms.server, 'listening')
  cms.port = (cms.server.address() as AddressInfo).port
}

async function stopCms() {
  cms.server?.close()
  cms.server?.closeAllConnections()
  if (cms.server) await once(cms.server, 'close')
}

/** A page for each post, by REST; the number of posts, by GraphQL; and an address that always fails, which it ignores. */
const site = (mark = ''): Files => ({
  'package.json': JSON.stringify({ name: 'site', description: mark, scripts: { build: 'node build.mjs' } }),
  'ca.pem': cert,
  'build.mjs': `
    import fs from 'node:fs'
    const headers = { authorization: 'Bearer ' + process.env.CMS_TOKEN }
    const ask = (path, more) => fetch(process.env.CMS_URL + path, { headers, ...more })
    const must = async (answer) => { if (!answer.ok) throw new Error('status ' + answer.status); return answer.json() }
    const posts = await must(await ask('/posts?per_page=100&access_token=in-the-address'))
    await (await ask('/broken')).text()
    const query = JSON.stringify({ query: 'query Count { posts { pageInfo { total } } }' })
    const counted = await must(await ask('/graphql', { method: 'POST', body: query, headers: { ...headers, 'content-type': 'application/json' } }))
    fs.mkdirSync('dist', { recursive: true })
    fs.writeFileSync('dist/index.html', posts.map(({ title }) => title).join(', ') + '; ' + counted.data.count)
  `,
})

if (!skip) await startCms()
file.after(() => cms.server?.close())
const resolverFile = skip ? '' : await startResolver(file, { [HOST]: address })
const settings = { HEADLAND_ALLOWED_NETWORKS: `${address}:${cms.port}`, HEADLAND_RETRY_INTERVAL: '2' }
const command = [
  ...['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/resolv.conf && exec "$@"', resolverFile],
  ...[process.execPath, HEADLAND],
] as const
const service = skip
  ? (undefined as never)
  : await startService(file, { settings, command: command as unknown as [string, ...string[]] })
const as = skip ? (undefined as never) : await service.login()

async function made(): Promise<resources.Environment> {
  const shellVariables = [
    { key: 'CMS_URL', value: `https://${HOST}:${cms.port}` },
    { key: 'CMS_TOKEN', value: TOKEN },
    { key: 'NODE_EXTRA_CA_CERTS', value: 'ca.pem' },
  ]
  const contentSnapshots = { hosts: [`${HOST}:${cms.port}`] }
  const body = { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms', shellVariables, contentSnapshots }
  return createEnvironment(service, as, { body })
}

const idOf = (full: string) => full.split('/').at(-1)
const environments: string[] = []
const read = async (name: string) => (await service.call(`/v1/${name}`, { as })).json
const buildOf = ({ metadata }: resources.Operation): Promise<resources.Build> => read(metadata.build)
const logOf = async ({ metadata }: resources.Operation): Promise<string> =>
  (await service.call(`/v1/${metadata.build}/log`, { as })).text
const pageOf = async (url: string) => (await siteAnswer(service, url, '/')).text

async function rebuild(name: string): Promise<resources.Operation> {
  const asked = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal(asked.status, 200, asked.text)
  return untilDone(service, as, asked.json.name)
}

const succeeded = async (operation: resources.Operation) =>
  assert.equal(operation.error, undefined, `${JSON.stringify(operation.error)}\n${await logOf(operation)}`)

test('a rebuild while the CMS is down has the content of the last snapshot, and is repeated when it is back', {
  skip,
}, async () => {
  const { name, url } = await made()
  environments.push(name)
  const first = await deploy(service, as, name, site())
  await succeeded(first)
  assert.equal(await pageOf(url), 'one, two; 2')
  assert.match(await logOf(first), new RegExp(`Recorded 3 answers of ${HOST}`))
  const { contacts } = await buildOf(first)
  const contact = contacts?.find(({ host, port }) => host === HOST && port === cms.port)
  assert.deepEqual([contact?.addresses, contact?.outcome], [[address], 'CONNECTED'], 'contacts name the real server')

  await stopCms()
  cms.posts = [...cms.posts, { id: 3, title: 'three' }]
  const during = await rebuild(name)
  await succeeded(during)
  const build = await buildOf(during)
  assert.equal(build.fromSnapshot?.build, first.metadata.build)
  assert.deepEqual([build.held, build.unchanged, build.fromSnapshot?.host], [undefined, true, `${HOST}:${cms.port}`])
  assert.match(await logOf(during), /refused the connection .*\n[\s\S]*run again with the content of .*3 answers/)
  assert.equal(await pageOf(url), 'one, two; 2')
  const [trigger] = await triggersOf(service, as, name)
  assert.equal(trigger?.fromSnapshot, build.fromSnapshot?.time)
  assert.deepEqual((await read(name)).retry?.hosts, [`${HOST}:${cms.port}`])

  await startCms()
  await until(async () => (await pageOf(url)) === 'one, two, three; 3', 'it was built again by itself')
  const later: resources.Environment = await until(async () => {
    const now = await read(name)
    return !now.reconciling && now
  }, 'the rebuild is over')
  assert.equal(later.retry, undefined)
  assert.equal((await read(later.build)).fromSnapshot, undefined)

  const diff = await service.call(`/v1/${later.build}/contentDiff?from=${idOf(first.metadata.build)}`, { as })
  assert.equal(diff.status, 200, diff.text)
  const { counts, changed } = diff.json as resources.ContentDiff
  assert.deepEqual(counts, { added: 0, removed: 0, changed: 2, unchanged: 1 })
  const posts = changed.find(({ method }) => method === 'GET')
  assert.deepEqual(posts?.changes, [{ path: '[3]', after: '{"id":3,"title":"three"}' }])
  assert.deepEqual([posts?.ids, posts?.url], [['3'], `https://${HOST}:${cms.port}/posts?per_page=100&access_token=…`])
  assert.equal(changed.find(({ method }) => method === 'POST')?.changes[0]?.path, 'data.count')
})

test('a CMS that answers with errors, huge headers or half an answer is down', { skip }, async () => {
  const { name, url } = await made()
  environments.push(name)
  cms.posts = [{ id: 1, title: 'one' }]
  const first = await deploy(service, as, name, site())
  await succeeded(first)
  cms.fault = endless
  const large = await rebuild(name)
  assert.match(await logOf(large), /no content snapshot is kept, since the answer to .*\/broken has more than/)
  const faults: [why: RegExp, Answer][] = [
    [/answered with 503/, (_, response) => response.writeHead(503).end()],
    [/too many bytes of headers/, (_, response) => response.writeHead(200, { 'x-huge': 'x'.repeat(200_000) }).end()],
    [/stopped in the middle of an answer/, half],
  ]
  for (const [why, fault] of faults) {
    cms.fault = fault
    const done = await rebuild(name)
    await succeeded(done)
    const { fromSnapshot } = await buildOf(done)
    assert.match(fromSnapshot?.message ?? '', why)
    assert.equal(fromSnapshot?.build, first.metadata.build, 'what was not recorded as a whole is no snapshot')
    assert.equal(await pageOf(url), 'one; 1')
  }
  const other = site('other')
  other['build.mjs'] = String(other['build.mjs']).replace('/posts?', '/news?')
  const upload = await deploy(service, as, name, other)
  assert.notEqual(upload.error, undefined, 'an upload does not run from a snapshot')
  const done = await rebuild(name)
  cms.fault = undefined
  assert.equal(reasonOf(done), 'CMS_UNREACHABLE')
  assert.match(done.error?.message ?? '', /has no answer to GET https:.*\/news/)
})

/** More than is recorded of one answer. */
const endless: Answer = (request, response) => {
  if (request.url !== '/broken') return true
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  let sent = 0
  const more = () => {
    while (sent < 20) {
      sent += 1
      if (!response.write(chunk)) return
    }
    response.end()
  }
  response.on('drain', more)
  more()
}

const half: Answer = (_, response) => {
  response.writeHead(200, { 'content-length': '1000' }).write('[')
  setTimeout(() => response.destroy(), 200)
}

test('no credential is in a file or row of the service, and snapshots are of one environment', { skip }, async () => {
  const found = await promisify(execFile)('grep', ['-rlaF', '-e', TOKEN, '-e', 'session=of-the-cms', service.dataDir])
    .then(({ stdout }) => stdout)
    .catch(({ stdout }) => stdout)
  assert.equal(found, '')
  assert.ok(
    cms.asked.some((line) => line.includes(`Bearer ${TOKEN}`)),
    'the CMS got the credential',
  )
  const [mine, other] = await Promise.all(environments.map(async (name) => (await read(name)).build))
  const across = await service.call(`/v1/${mine}/contentDiff?from=${idOf(other)}`, { as })
  assert.deepEqual([across.status, across.reason], [404, 'BUILD_NOT_FOUND'])
})

test('hosts must be names', { skip }, async () => {
  const [name] = environments
  for (const host of [
    '10.0.0.1',
    'cms.localhost',
    'https://cms.example.com',
    'CMS.example.com',
    'cms',
    'cms.example.com:65536',
    '',
  ]) {
    const body = { contentSnapshots: { hosts: [host] } }
    const refused = await service.call(`/v1/${name}`, { method: 'PATCH', as, body })
    assert.equal(refused.reason, 'FIELD_INVALID', `${host}: ${refused.text}`)
  }
})
