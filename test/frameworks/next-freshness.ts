/**
 * No operation makes a page older. A Next.js app reads a CMS whose text is numbered; every response of the site is
 * compared with the newest number that its page has shown before, through changes of variables, activations, builds,
 * purges, sleep and restarts. Takes minutes: `npm run test:frameworks`. `NEXT_VERSION=15.5.9` before the command tries
 * another version.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/folder.ts'
import { type Cms, startCms } from '../support/service/cms.ts'
import { type Files, filesIn } from '../support/service/deploy.ts'
import { EXAMPLES } from '../support/service/examples.ts'
import { deployNumberedSite, type NumberedSite } from '../support/service/numbered-site.ts'
import { type Login, startService, type TestService } from '../support/service/service.ts'
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
  let site: NumberedSite

  before(async () => {
    cms = await startCms(file)
    settings = { HEADLAND_ALLOWED_NETWORKS: cms.network }
    service = await startService(file, { dataDir: await temporaryFolder(file), settings })
    as = await service.login()
    const files = { ...(await filesIn(APP)), ...(await packageFiles()) }
    site = await deployNumberedSite({ service, as, cms, name: 'Next.js', files })
  })

  async function packageFiles(): Promise<Files> {
    const read = (name: string) => readFile(join(EXAMPLES, 'next-isr', name))
    const version = process.env.NEXT_VERSION
    if (version === undefined) {
      return { 'package.json': await read('package.json'), 'package-lock.json': await read('package-lock.json') }
    }
    const react = version.startsWith('14.') ? '18' : '19'
    const dependencies = { next: version, react, 'react-dom': react }
    return { 'package.json': JSON.stringify({ ...JSON.parse(String(await read('package.json'))), dependencies }) }
  }

  test('a change of variables keeps revalidations, whether or not the pages were read since', async () => {
    await site.allShow(STORED, cms.number())
    const number = cms.write()
    await site.post('/api/revalidate?tag=posts&tag=live&path=/forever')
    await site.post('/api/revalidate-page?path=/legacy')
    assert.equal(await site.shown('/posts/one'), number)
    await site.setVariable('one')
    await site.allShow([...POSTS, '/legacy', '/forever', '/live'], number)
  })

  test('a deployment of the same build keeps pages that the CMS could not provide again', async () => {
    for (const path of ALL) await site.shown(path)
    cms.isDown = true
    await site.setVariable('two')
    for (const path of ALL) await site.shown(path)
    cms.isDown = false
  })

  test('a purge of everything means fresh pages, of every kind', async () => {
    const before = await Promise.all(STORED.map(site.shown))
    const number = cms.write()
    assert.deepEqual(await Promise.all(STORED.map(site.shown)), before, 'without a purge they stay')
    await site.purge()
    await site.allShow(ALL, number)
  })

  test('a purge of one path or tag leaves the others', async () => {
    const old = cms.number()
    const number = cms.write()
    await site.purge({ paths: ['/posts/one', '/feed'] })
    await site.allShow(['/posts/one', '/feed'], number)
    await site.allShow(['/posts/two', '/forever', '/legacy'], old)
    await site.purge({ tags: ['forever'] })
    await site.allShow(['/forever'], number)
    await site.allShow(['/posts/two', '/legacy'], old)
  })

  test('data that was read from the CMS before a purge is not stored after it', async () => {
    cms.write()
    await site.purge()
    const answers = cms.holdAnswers()
    const early = site.shown('/posts/one')
    await answers.isAsked
    const number = cms.write()
    await site.purge()
    answers.release()
    await early
    await site.allShow(POSTS, number)
  })

  test('with the CMS down, a purge leaves the old pages instead of errors; with the CMS back, a purge means fresh ones at once', async () => {
    await Promise.all(ALL.map(site.shown))
    cms.isDown = true
    await site.purge()
    for (const path of STORED) await site.shown(path)
    cms.isDown = false
    const first = cms.write()
    await site.purge()
    await site.allShow(STORED, first)
  })

  test('with the CMS back, the old pages are replaced without a purge too', async () => {
    cms.isDown = true
    await site.purge()
    for (const path of STORED) await site.shown(path)
    cms.isDown = false
    const number = cms.write()
    for (const path of STORED) await until(async () => (await site.shown(path)) === number)
  })

  test('a page that is revalidated while a build runs does not get older when the build goes live', async () => {
    await Promise.all(ALL.map(site.shown))
    const read = cms.readByBuild()
    const rebuilt = site.rebuild()
    await Promise.race([read, rebuilt])
    const number = cms.write()
    await site.post('/api/revalidate?tag=posts&tag=feed&path=/forever')
    await site.post('/api/revalidate-page?path=/legacy')
    await until(async () => (await site.shown('/timed')) === number)
    await rebuilt
    await site.allShow([...POSTS, '/legacy', '/forever', '/timed'], number)
  })

  test('an older deployment that is made live again shows current content', async () => {
    const number = cms.write()
    await site.activate(site.firstDeployment)
    await site.allShow(ALL, number)
  })

  test('a revalidation of an unread page survives a restart of the service and a sleep of the app', async () => {
    const first = cms.write()
    await site.post('/api/revalidate?tag=posts')
    assert.equal(await service.stop(), 0)
    service = await startService(file, {
      dataDir: service.dataDir,
      settings: { ...settings, HEADLAND_IDLE_TIMEOUT: '5', HEADLAND_SLEEP_MEMORY: '0' },
    })
    site.movedTo(service)
    await site.allShow(POSTS, first)
    const second = cms.write()
    await site.post('/api/revalidate?tag=posts')
    await until(async () => {
      const { json } = await service.call(`/v1/${site.firstDeployment}`, { as })
      return json.instance?.state === 'ASLEEP'
    }, 'the app sleeps')
    await site.allShow(POSTS, second)
  })

  test('what one of three instances revalidates is fresh in all of them', async () => {
    await site.operate(site.environment, { method: 'PATCH', body: { minInstances: 3, maxInstances: 3 } })
    await until(async () => {
      const { json } = await service.call(`/v1/${site.environment}`, { as })
      const { json: live } = await service.call(`/v1/${json.deployment}`, { as })
      return live.instance?.running === 3
    }, 'three instances run')
    // Each address is a page of its own to the edge, so that nine visits reach each instance three times.
    const nineOf = (path: string) => Array.from({ length: 9 }, (_, visit) => `${path}?visit=${visit}`)
    for (const path of [...nineOf('/posts/one'), ...nineOf('/live')]) await site.shown(path)
    for (let round = 0; round < 3; round++) {
      const number = cms.write()
      await site.post('/api/revalidate?tag=posts&tag=live')
      await site.allShow([...nineOf('/posts/one'), ...nineOf('/live')], number)
    }
  })
})
