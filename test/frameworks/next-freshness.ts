/**
 * No operation makes a page older. A Next.js app reads a CMS whose text is numbered; every answer of the site is held against
 * the newest number that its page has shown before, through changes of variables, activations, builds, purges, sleep and
 * restarts. Takes minutes: `npm run test:frameworks`.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Cms, startCms } from '../support/cms.ts'
import { deploy, filesIn, untilDone } from '../support/deploy.ts'
import { createEnvironment } from '../support/environment.ts'
import { EXAMPLES } from '../support/examples.ts'
import { temporaryFolder } from '../support/folder.ts'
import { type Login, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const APP = fileURLToPath(new URL('../fixtures/next-cms', import.meta.url))
const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const skip = process.getuid?.() === 0 ? false : 'only root can give this machine an address that builds reach'

const POSTS = ['/posts/one', '/posts/two']
const STORED = [...POSTS, '/forever', '/legacy', '/feed']
const ALL = [...STORED, '/live', '/timed']

describe('a Next.js app whose content changes', { skip }, () => {
  let cms: Cms
  let settings: Record<string, string>
  let service: TestService
  let as: Login
  let environment: string
  let host: string
  let firstDeployment: string
  const newest = new Map<string, number>()

  before(async () => {
    cms = await startCms(file)
    settings = { HEADLAND_ALLOWED_NETWORKS: cms.network }
    service = await startService(file, { dataDir: await temporaryFolder(file), settings })
    as = await service.login()
    const shellVariables = [{ key: 'CMS_URL', value: cms.url }]
    const body = { displayName: 'Freshness', branch: 'uploadable', cmsEnvironment: 'cms', shellVariables }
    const made = await createEnvironment(service, as, { body })
    environment = made.name
    host = new URL(made.url).host
    const example = join(EXAMPLES, 'next-isr')
    const names = ['package.json', 'package-lock.json']
    const packages = await Promise.all(names.map(async (name) => [name, await readFile(join(example, name))] as const))
    const done = await deploy(service, as, environment, { ...(await filesIn(APP)), ...Object.fromEntries(packages) })
    assert.equal(done.error, undefined, JSON.stringify(done.error))
    firstDeployment = String(done.metadata.deployment)
  })

  function ask(path: string, method = 'GET'): Promise<{ status: number; text: string; cache: string }> {
    const { hostname, port } = new URL(service.edge)
    return new Promise((resolve, reject) => {
      const call = request({ host: hostname, port, path, method, headers: { host }, agent: false }, async (answer) => {
        let text = ''
        for await (const chunk of answer.setEncoding('utf8')) text += chunk
        resolve({ status: answer.statusCode ?? 0, text, cache: String(answer.headers['cache-status']) })
      })
      call.on('error', reject).end()
    })
  }

  /** The number of the text that a page shows, which is never below one that it has shown before. */
  async function shown(path: string): Promise<number> {
    const { status, text, cache } = await ask(path)
    const found = Number(/text-(\d+)-/.exec(text)?.[1])
    assert.equal(status, 200, `${path}: ${text.slice(0, 300)}`)
    const before = newest.get(path) ?? 0
    assert.ok(found >= before, `${path} shows text ${found} after it has shown text ${before} (${cache})`)
    newest.set(path, found)
    return found
  }

  async function allShow(paths: readonly string[], number: number) {
    for (const path of paths) assert.equal(await shown(path), number, path)
  }

  async function post(path: string) {
    const { status, text } = await ask(path, 'POST')
    assert.equal(status, 200, text)
  }

  async function operate(path: string, options: { method?: string; body?: unknown } = {}) {
    const asked = await service.call(`/v1/${path}`, { method: 'POST', as, ...options })
    assert.equal(asked.status, 200, asked.text)
    const done = await untilDone(service, as, asked.json.name)
    assert.equal(done.error, undefined, JSON.stringify(done.error))
    return done
  }

  const setVariable = (value: string) =>
    operate(`${environment}?updateMask=shellVariables`, {
      method: 'PATCH',
      body: {
        shellVariables: [
          { key: 'CMS_URL', value: cms.url },
          { key: 'ANYTHING', value },
        ],
      },
    })
  const purge = (body: unknown = {}) => operate(`${environment}:clearCache`, { body })

  test('a change of variables keeps what was revalidated, whether or not it was read since', async () => {
    await allShow(STORED, cms.number())
    const number = cms.write()
    await post('/api/revalidate?tag=posts&tag=live&path=/forever')
    await post('/api/revalidate-page?path=/legacy')
    assert.equal(await shown('/posts/one'), number)
    await setVariable('one')
    await allShow([...POSTS, '/legacy', '/forever', '/live'], number)
  })

  test('a deployment of the same build goes on with pages that the CMS could not give it again', async () => {
    for (const path of ALL) await shown(path)
    cms.isDown = true
    await setVariable('two')
    for (const path of ALL) await shown(path)
    cms.isDown = false
  })

  test('a purge of everything means fresh pages, of every kind', async () => {
    const before = await Promise.all(STORED.map(shown))
    const number = cms.write()
    assert.deepEqual(await Promise.all(STORED.map(shown)), before, 'without a purge they stay')
    await purge()
    await allShow(ALL, number)
  })

  test('a purge of one path or tag leaves the others', async () => {
    const old = cms.number()
    const number = cms.write()
    await purge({ paths: ['/posts/one', '/feed'] })
    await allShow(['/posts/one', '/feed'], number)
    await allShow(['/posts/two', '/forever', '/legacy'], old)
    await purge({ tags: ['forever'] })
    await allShow(['/forever'], number)
    await allShow(['/posts/two', '/legacy'], old)
  })

  test('with the CMS down, a purge leaves the old pages instead of errors, and the edge does not keep them', async () => {
    await Promise.all(ALL.map(shown))
    cms.isDown = true
    await purge()
    for (const path of STORED) await shown(path)
    cms.isDown = false
    const number = cms.write()
    for (const path of STORED) await until(async () => (await shown(path)) === number)
  })

  test('what is revalidated while a build runs is not older when the build is live', async () => {
    await Promise.all(ALL.map(shown))
    const read = cms.readByBuild()
    const rebuilt = operate(`${environment}:rebuild`, { body: {} })
    await Promise.race([read, rebuilt])
    const number = cms.write()
    await post('/api/revalidate?tag=posts&tag=feed&path=/forever')
    await post('/api/revalidate-page?path=/legacy')
    await until(async () => (await shown('/timed')) === number)
    await rebuilt
    await allShow([...POSTS, '/legacy', '/forever', '/timed'], number)
  })

  test('an older deployment that is made live again shows what there is now', async () => {
    const number = cms.write()
    await operate(`${firstDeployment}:activate`)
    await allShow(ALL, number)
  })

  test('what was revalidated and not read stays so through a restart of the service and a sleep of the app', async () => {
    const first = cms.write()
    await post('/api/revalidate?tag=posts')
    assert.equal(await service.stop(), 0)
    service = await startService(file, { dataDir: service.dataDir, settings: { ...settings, HEADLAND_IDLE_TIMEOUT: '5' } })
    await allShow(POSTS, first)
    const second = cms.write()
    await post('/api/revalidate?tag=posts')
    await until(async () => {
      const { json } = await service.call(`/v1/${firstDeployment}`, { as })
      return json.instance?.state === 'ASLEEP'
    }, 'the app sleeps')
    await allShow(POSTS, second)
  })
})
