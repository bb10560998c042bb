/** Static sites at an edge of another machine, which gets their files from a real registry. */
import assert from 'node:assert/strict'
import { readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { resources } from '../../src/contract/index.ts'
import { NEEDS_REGISTRY } from '../support/images/registry.ts'
import type { Fault } from '../support/images/registry-proxy.ts'
import { deploy, type Files, nodeServer, page } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { startOtherMachine } from '../support/service/other-machine.ts'
import { processesOf } from '../support/service/processes.ts'
import { until } from '../support/until.ts'

const { skip } = NEEDS_REGISTRY

const machines = skip ? undefined : await startOtherMachine({ after })
const { registry, proxy, control, edge, startEdge } = machines ?? ({} as NonNullable<typeof machines>)
const as = skip ? { userId: '', password: '' } : await control.login()

const SITE: Files = {
  'index.html': '<!doctype html><title>x</title><p>home</p>',
  '404.html': '<!doctype html><title>x</title><p>not here</p>',
  'about/index.html': '<!doctype html><title>x</title><p>about</p>',
  'numbers.bin': Buffer.from('0123456789'),
  _redirects: '/old /about/ 301\n',
  _headers: '/*\n  x-from: the author\n',
}

async function deployed(environment: resources.Environment, files: Files) {
  const done = await deploy(control, as, environment.name, files)
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  return (await control.call(`/v1/${done.metadata.build}`, { as })).json as resources.Build
}

const outputsIn = async (dataDir: string) => (await readdir(join(dataDir, 'outputs')).catch(() => [])).toSorted()

const isBlob = (path: string): boolean => path.includes('/blobs/')

/** A download hangs until it is cut off. */
const hanging: Fault = (seen, incoming, outgoing) => {
  if (seen.method !== 'GET' || !isBlob(seen.path)) return false
  incoming.resume()
  outgoing.writeHead(200, { 'content-length': '1000000' })
  outgoing.write('the beginning')
  return true
}

const open: Fault = () => false

/** The file in which the registry stores the layer of an image that has a site's files. */
async function filesLayerOf({ image = '' }: resources.Build): Promise<string> {
  const pathOf = (digest: string) =>
    join(registry.folder, 'docker/registry/v2/blobs/sha256', digest.slice(7, 9), digest.slice(7), 'data')
  const manifest = JSON.parse(await readFile(pathOf(image.slice(image.indexOf('sha256:'))), 'utf8'))
  const layers: { digest: string; annotations: Record<string, string> }[] = manifest.layers
  return pathOf(layers.find(({ annotations }) => annotations['headland.layer'] === 'files')?.digest ?? '')
}

test('pages, redirects, headers, missing pages and ranges come from files that the edge got itself', {
  skip,
}, async () => {
  const environment = await createEnvironment(control, as)
  await deployed(environment, SITE)
  await rm(join(control.dataDir, 'outputs'), { recursive: true })
  const ask = (path: string, headers = {}) => siteAnswer(edge, environment.url, path, headers)
  const home = await ask('/')
  assert.equal(home.status, 200, home.text)
  assert.match(home.text, /home/)
  assert.equal(home.headers['x-from'], 'the author')
  assert.match((await ask('/about/')).text, /about/)
  const redirect = await ask('/old')
  assert.deepEqual([redirect.status, redirect.headers.location], [301, '/about/'])
  const missing = await ask('/nothing')
  assert.deepEqual([missing.status, /not here/.test(missing.text)], [404, true])
  const part = await ask('/numbers.bin', { range: 'bytes=2-4' })
  assert.deepEqual([part.status, part.text], [206, '234'])
  assert.equal((await ask('/..%2f..%2fetc/passwd')).status, 404)
  assert.equal((await outputsIn(edge.dataDir)).length, 1)
})

test('a new deployment is served without a failed request', { skip }, async () => {
  const environment = await createEnvironment(control, as)
  await deployed(environment, page('number 1'))
  assert.match((await siteAnswer(edge, environment.url)).text, /number 1/)
  const stopping = new AbortController()
  const failed: string[] = []
  let visits = 0
  async function visit() {
    while (!stopping.signal.aborted) {
      const { status, text } = await siteAnswer(edge, environment.url)
      visits += 1
      if (status !== 200 || !/number \d/.test(text)) failed.push(`${status} ${text}`)
      await sleep(20)
    }
  }
  const visitors = Array.from({ length: 2 }, visit)
  for (const number of [2, 3, 4]) {
    await deployed(environment, page(`number ${number}`))
    // The deploy ends when the edge uses it.
    assert.match((await siteAnswer(edge, environment.url)).text, new RegExp(`number ${number}`))
  }
  stopping.abort()
  await Promise.all(visitors)
  assert.deepEqual(failed, [])
  assert.ok(visits > 20, `${visits} visits`)
})

test('while the files of a deployment are on their way, the one before answers, and other sites change', {
  skip,
}, async () => {
  const [slow, quick] = [await createEnvironment(control, as), await createEnvironment(control, as)]
  await deployed(slow, page('before'))
  await deployed(quick, page('before'))
  for (const { url } of [slow, quick]) assert.match((await siteAnswer(edge, url)).text, /before/)
  const { image = '' } = await deployed(slow, page('other'))
  const repository = image.slice(image.indexOf('/'), image.indexOf('@'))
  let isCut = false
  proxy.set((seen, incoming, outgoing) => !isCut && seen.path.includes(repository) && hanging(seen, incoming, outgoing))
  const deploying = deployed(slow, page('after'))
  await until(() => proxy.seen.some(({ path }) => path.includes(repository) && isBlob(path)))
  await deployed(quick, page('after'))
  assert.match((await siteAnswer(edge, quick.url)).text, /after/)
  isCut = true
  proxy.cut()
  await deploying
  assert.match((await siteAnswer(edge, slow.url)).text, /after/)
  proxy.set(open)
})

test('a server that becomes a static site, and the other way round, has its own answer each time', {
  skip,
}, async () => {
  const environment = await createEnvironment(control, as)
  await deployed(environment, page('static'))
  assert.match((await siteAnswer(edge, environment.url)).text, /static/)
  await deployed(environment, nodeServer('server'))
  await deployed(environment, page('static again'))
  assert.match((await siteAnswer(edge, environment.url)).text, /static again/)
})

test('a request waits for files whose process was killed while it got them', { skip }, async () => {
  const environment = await createEnvironment(control, as)
  await deployed(environment, page('in the end'))
  proxy.set(hanging)
  const seenBefore = proxy.seen.length
  const answer = siteAnswer(edge, environment.url)
  await until(() => proxy.seen.slice(seenBefore).some(({ path }) => isBlob(path)))
  const drafts = async () => (await outputsIn(edge.dataDir)).filter((name) => name.endsWith('.new'))
  assert.equal((await drafts()).length, 1)
  proxy.set(open)
  process.kill(processesOf(edge.pid).files as number, 'SIGKILL')
  const { status, text } = await answer
  assert.deepEqual([status, /in the end/.test(text)], [200, true], text)
  assert.deepEqual(await drafts(), [])
})

test('an image that was changed in the registry is refused, and got when it is whole again', { skip }, async () => {
  const environment = await createEnvironment(control, as)
  const layer = await filesLayerOf(await deployed(environment, page('as it was built')))
  const whole = await readFile(layer)
  const changed = Buffer.from(whole)
  changed[changed.length >> 1] = (changed[changed.length >> 1] as number) ^ 1
  await writeFile(layer, changed)
  const refused = await siteAnswer(edge, environment.url)
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '5'], refused.text)
  assert.match(edge.log(), /the files of a site could not be got from the registry/)
  await truncate(layer, 0)
  await writeFile(layer, whole)
  await until(() => siteAnswer(edge, environment.url).then(({ text }) => /as it was built/.test(text)))
})

test('the edge has neither the credentials of the registry nor another way to the files', { skip }, async () => {
  const { edge: pid = 0, files = 0 } = processesOf(edge.pid)
  const environmentOf = (one: number) => readFile(`/proc/${one}/environ`, 'utf8')
  for (const one of [pid, files]) assert.doesNotMatch(await environmentOf(one), /correct horse/)
  assert.equal((await stat(join(edge.dataDir, 'files.sock'))).mode & 0o777, 0o600)
})

test('a reload replaces the process of files too', { skip }, async () => {
  const environment = await createEnvironment(control, as)
  await deployed(environment, page('before the reload'))
  assert.match((await siteAnswer(edge, environment.url)).text, /before/)
  const before = processesOf(edge.pid).files
  process.kill(edge.pid, 'SIGHUP')
  await until(() => {
    const { files } = processesOf(edge.pid)
    return files !== undefined && files !== before
  })
  assert.match((await siteAnswer(edge, environment.url)).text, /before/)
  await deployed(environment, page('after the reload'))
  assert.match((await siteAnswer(edge, environment.url)).text, /after/)
})

test('files that are there are served without the registry, also after the edge was killed', { skip }, async (t) => {
  const environment = await createEnvironment(control, as)
  await deployed(environment, page('kept'))
  assert.match((await siteAnswer(edge, environment.url)).text, /kept/)
  await registry.stop()
  assert.match((await siteAnswer(edge, environment.url)).text, /kept/)
  const killed = edge.edgePid()
  process.kill(killed, 'SIGKILL')
  await until(() => (processesOf(edge.pid).edge ?? killed) !== killed)
  await until(() => siteAnswer(edge, environment.url).then(({ text }) => /kept/.test(text)))
  await edge.kill()
  const next = await startEdge(t)
  assert.match((await siteAnswer(next, environment.url)).text, /kept/)
})
