/** The cache through the whole service: an app behind the edge, purges over the API, switches, sleep, and a killed edge. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploy, nodeServer, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { until } from '../../support/until.ts'
import { service } from './sleepy.ts'

const as = await service.login()

/** Numbers its responses, and lets caches store them for an hour. */
const counter = (version: string) =>
  nodeServer(
    '',
    `
    globalThis.count = (globalThis.count ?? 0) + 1
    response.setHeader('cache-control', 's-maxage=3600')
    response.setHeader('cache-tag', request.url.startsWith('/posts') ? 'posts' : 'pages')
    response.write(${JSON.stringify(version)} + ' ' + globalThis.count)`,
  )

async function counting(version = 'v1') {
  const { name, url } = await createEnvironment(service, as)
  const { metadata } = await deploy(service, as, name, counter(version))
  const see = async (path = '/') => {
    const { text, headers } = await siteAnswer(service, url, path)
    return { text, status: headers['cache-status'], tag: headers['cache-tag'] }
  }
  const clear = async (what: object) => {
    const answer = await service.call(`/v1/${name}:clearCache`, { method: 'POST', as, body: what })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json.done, true)
  }
  return { name, deployment: metadata.deployment, see, clear }
}

test('responses that an app allows to be stored are stored, and their tags are not shown', async () => {
  const { see } = await counting()
  const first = await see()
  assert.match(String(first.status), /^headland; fwd=uri-miss; stored$/)
  const again = await see()
  assert.equal(again.text, first.text)
  assert.match(String(again.status), /^headland; hit; ttl=\d+$/)
  assert.deepEqual([first.tag, again.tag], [undefined, undefined])
})

test('a purge is done before its response: of everything, of a path, of a tag, and of no other environment', async () => {
  const [site, other] = [await counting(), await counting()]
  const before = [await site.see('/'), await site.see('/posts/1'), await other.see('/')].map(({ text }) => text)
  const now = async () =>
    [await site.see('/'), await site.see('/posts/1'), await other.see('/')].map(({ text }) => text)
  assert.deepEqual(await now(), before)

  await site.clear({ tags: ['posts'] })
  const [, posts] = await now()
  assert.deepEqual(await now(), [before[0], posts, before[2]])
  assert.notEqual(posts, before[1])

  await site.clear({ paths: ['/'] })
  const [root] = await now()
  assert.deepEqual(await now(), [root, posts, before[2]])
  assert.notEqual(root, before[0])

  await site.clear({})
  const last = await now()
  assert.notEqual(last[0], root)
  assert.notEqual(last[1], posts)
  assert.equal(last[2], before[2])
})

test('a new deployment is served from its switch on, and a rollback does not serve its old pages from the cache', async () => {
  const { name, deployment, see } = await counting('old')
  assert.match((await see()).text, /^old /)
  await deploy(service, as, name, counter('new'))
  assert.match((await see()).text, /^new /)
  const asked = await service.call(`/v1/${deployment}:activate`, { method: 'POST', as })
  await untilDone(service, as, asked.json.name)
  const back = await see()
  assert.match(back.text, /^old /)
  assert.match(String(back.status), /fwd=uri-miss/)
})

test('after the switch of a static site every changed file is new, and the others stay', async () => {
  const { name, url } = await createEnvironment(service, as)
  const see = async (path: string) => (await siteAnswer(service, url, path)).text
  await deploy(service, as, name, { ...page('one'), 'same.txt': 'same' })
  assert.match(await see('/'), /one/)
  assert.equal(await see('/same.txt'), 'same')
  await deploy(service, as, name, { ...page('two'), 'same.txt': 'same' })
  assert.match(await see('/'), /two/)
  assert.equal(await see('/same.txt'), 'same')
})

test('stored responses are served while the app sleeps, and do not wake it', async () => {
  const { name, deployment, see } = await counting()
  const first = await see()
  const state = async () => (await service.call(`/v1/${deployment}`, { as })).json.instance.state
  await until(async () => (await state()) === 'ASLEEP', 'it sleeps')
  const again = await see()
  assert.deepEqual([again.text, await state()], [first.text, 'ASLEEP'])
  assert.match(String(again.status), /; hit;/)
  const { text: log } = await service.call(`/v1/${name}/logs`, { as })
  assert.equal(log.match(/starts: build/g)?.length, 1, 'it was not started again')
  assert.doesNotMatch(log, /goes on where it was/)
})

test('an edge that is killed starts again with stored responses, and without purged ones', async () => {
  const { see, clear } = await counting()
  const [root, posts] = [await see('/'), await see('/posts/1')]
  await clear({ tags: ['posts'] })
  process.kill(service.edgePid(), 'SIGKILL')
  await until(() => /ended by itself/.test(service.log()))
  const back = await answered(() => see('/'))
  assert.equal(back.text, root.text)
  assert.match(String(back.status), /; hit;/)
  assert.notEqual((await see('/posts/1')).text, posts.text)
})

/** The first response of an edge that is being started again. */
const answered = <T>(ask: () => Promise<T>) => until(() => ask().catch(() => undefined), 'the edge answers')
