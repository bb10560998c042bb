/** Notices of builds and of crash loops, as a real server gets them. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, suite, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { resources } from '../../../src/contract/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { blocksOf, readPage } from '../../support/guides.ts'
import { deploy, nodeServer, page, reasonOf, untilDone, uploadWithQuery } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

type Received = { headers: IncomingHttpHeaders; body: Buffer }

const received: Received[] = []
const receiver = createServer(async (request, response) => {
  received.push({ headers: request.headers, body: await buffer(request) })
  response.end()
}).listen(0, '127.0.0.1')
await new Promise((resolve) => receiver.once('listening', resolve))
after(() => receiver.close())
const { port } = receiver.address() as AddressInfo

const service = await startService({ after }, { settings: { HEADLAND_EGRESS_HOSTS: `127.0.0.1:${port}` } })
const as = await service.login('owner')

async function createTarget(app: string, noticeKinds: resources.NoticeKind[]): Promise<string> {
  const path = `/${app}`
  const url = `http://127.0.0.1:${port}${path}`
  const body = { displayName: 'Receiver', kind: 'WEBHOOK', url, noticeKinds, apps: [app] }
  const made = await service.call('/v1/accounts/default/notificationTargets', { method: 'POST', as, body })
  assert.equal(made.status, 200, made.text)
  return made.json.secret
}

/** The check of a signature as the guide has it. */
async function readGuide(): Promise<(headers: IncomingHttpHeaders, body: Buffer, key: string) => boolean> {
  const folder = await temporaryFolder({ after })
  const [code] = blocksOf(await readPage('docs/guides/notices.md')).filter(({ language }) => language === 'js')
  await writeFile(join(folder, 'check.mjs'), code?.text ?? '')
  return (await import(pathToFileURL(join(folder, 'check.mjs')).href)).isGenuine
}

const appOf = (environment: { name: string }): string => environment.name.split('/')[3] ?? ''

const noticesOf = (app: string) =>
  received
    .map(({ headers, body }) => ({ headers, body, json: JSON.parse(body.toString()) }))
    .filter(({ json }) => JSON.stringify(json).includes(`apps/${app}/`))

const kindsOf = (app: string): string[] => noticesOf(app).map(({ json }) => json.type)

const failing = { 'package.json': JSON.stringify({ scripts: { build: 'exit 3' } }), 'index.html': 'x' }

suite('beside one another', { concurrency: 3 }, () => {
  test('a failed build, the recovery and what goes live reach a receiver once each, with a valid signature', async () => {
    const isGenuine = await readGuide()
    const { name, url } = await createEnvironment(service, as)
    const app = appOf({ name })
    const key = await createTarget(app, ['BUILD_FAILED', 'BUILD_RECOVERED', 'BUILD_LIVE'])
    const untilTold = (count: number) => until(() => noticesOf(app).length >= count, `${count} notices arrived`)

    await deploy(service, as, name, page('first'))
    await untilTold(1)
    const sha = 'c0ffee0123456789c0ffee0123456789c0ffee01'
    const query = `?commit=${sha}&commitBranch=main&commitSubject=Break%20it`
    const asked = await uploadWithQuery(service, as, { environment: name, query }, failing)
    const failed = await untilDone(service, as, asked.json.name)
    await untilTold(2)
    await deploy(service, as, name, page('second'))
    await untilTold(3)
    await deploy(service, as, name, page('third'))
    await untilTold(4)
    // The same output again: nothing went live.
    await deploy(service, as, name, page('third'))
    await deploy(service, as, name, page('fourth'))
    await untilTold(5)

    assert.deepEqual(kindsOf(app), ['build.live', 'build.failed', 'build.recovered', 'build.live', 'build.live'])
    const told = noticesOf(app)
    assert.ok(told.every(({ headers, body }) => isGenuine(headers, body, key)))
    assert.ok(!told.some(({ headers, body }) => isGenuine(headers, Buffer.concat([body, Buffer.from(' ')]), key)))
    assert.equal(new Set(told.map(({ headers }) => headers['webhook-id'])).size, told.length)
    const text = JSON.stringify(told[1]?.json)
    for (const part of [String(reasonOf(failed)), 'c0ffee0 Break it on main', 'Requested by: ', url, '/builds/']) {
      assert.ok(text.includes(part), `${part} in ${text}`)
    }
  })

  test('a cancelled build is no notice', async () => {
    const { name } = await createEnvironment(service, as)
    const app = appOf({ name })
    await createTarget(app, ['BUILD_FAILED', 'BUILD_LIVE'])
    const slow = { 'package.json': JSON.stringify({ scripts: { build: 'sleep 600' } }), 'index.html': 'x' }
    const asked = await uploadWithQuery(service, as, { environment: name, query: '' }, slow)
    await until(async () => (await service.call(`/v1/${asked.json.name}`, { as })).json.metadata.phase === 'BUILDING')
    await service.call(`/v1/${asked.json.name}:cancel`, { method: 'POST', as })
    const done = await untilDone(service, as, asked.json.name)
    assert.equal(reasonOf(done), 'OPERATION_CANCELLED')
    await deploy(service, as, name, page('after it'))
    await until(() => kindsOf(app).length > 0)
    assert.deepEqual(kindsOf(app), ['build.live'])
  })

  test('a crash loop reaches a receiver once', async () => {
    const { name } = await createEnvironment(service, as)
    const app = appOf({ name })
    await createTarget(app, ['APP_CRASH_LOOP'])
    const files = nodeServer('it runs')
    const server = `${files['server.js']}\nserver.on('listening', () => setTimeout(() => process.exit(1), 1000))`
    await deploy(service, as, name, { ...files, 'server.js': server })
    await until(() => kindsOf(app).length > 0, 'the crash loop was told')
    assert.deepEqual(kindsOf(app), ['app.crash_loop'])
    assert.match(noticesOf(app)[0]?.body.toString() ?? '', /crash loop/)
  })
})
