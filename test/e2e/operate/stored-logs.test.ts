/** Logs of a service with an object store: the small server of the tests, which can be stopped. */
import assert from 'node:assert/strict'
import { appendFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { BUCKET, KEYS, type S3Server, startS3Server } from '../../support/object-store/s3-server.ts'
import { startServiceOn } from '../../support/object-store/service.ts'
import { deploy, page } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import type { TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const storeOn = (server: S3Server) => ({ ...server, bucket: BUCKET, ...KEYS })
const storedLogs = ({ objects }: S3Server): string[] => [...objects.keys()].filter((key) => key.includes('/logs/'))
const filesIn = (service: TestService, kind: string) => readdir(join(service.dataDir, 'logs', kind))

/** The files of an app's log that are on the disk. */
const partsOf = async (environment: string) =>
  (await filesIn(service, 'runtime')).filter((name) => name.startsWith(`${environment.split('/').at(-1)}`))

async function emptyCache({ dataDir }: TestService) {
  const cache = join(dataDir, 'object-cache')
  for (const folder of await readdir(cache)) if (folder !== 'aside') await rm(join(cache, folder), { recursive: true })
}

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const server = await startS3Server(file)
const place = { store: storeOn(server), prefix: 'logs' }
/** The same for all tests. The last one starts it again. */
let service = await startServiceOn(file, place)
const as = await service.login()

test('the log of a build goes to the bucket when it is over, and is read from there', async () => {
  const before = storedLogs(server).length
  const { name: environment } = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, environment, page('x'))).error, undefined)
  await until(async () => (await filesIn(service, 'builds')).length === 0, 'no log of a build is on the disk')
  assert.equal(storedLogs(server).length, before + 1)
  await emptyCache(service)
  const { json } = await service.call(`/v1/${environment}/builds`, { as })
  const log = await service.call(`/v1/${json.builds[0].name}/log`, { as })
  assert.equal(log.status, 200)
  assert.match(log.text, /Live after/)
  const lines = log.text.trimEnd().split('\n').length
  assert.equal(log.headers.get('x-next-offset'), String(lines))
})

test('a build ends while the store is away, its log stays and is moved later, and one that is away is 503', async () => {
  const before = storedLogs(server).length
  const { name: environment } = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, environment, page('x'))).error, undefined)
  await until(() => storedLogs(server).length === before + 1)
  const first = (await service.call(`/v1/${environment}/builds`, { as })).json.builds[0].name
  await until(async () => (await filesIn(service, 'builds')).length === 0)
  await server.stop()
  const rebuilt = await service.call(`/v1/${environment}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal(rebuilt.status, 200)
  const second = await until(async () => {
    const { json } = await service.call(`/v1/${environment}/builds`, { as })
    const [newest] = json.builds
    return newest.name !== first && newest.state === 'SUCCEEDED' ? newest.name : undefined
  }, 'the build succeeded from the copy on the disk')
  assert.match((await service.call(`/v1/${second}/log`, { as })).text, /nothing to switch/)
  await emptyCache(service)
  for (const headers of [{}, { accept: 'text/event-stream' }]) {
    const away = await service.call(`/v1/${first}/log`, { as, headers })
    assert.deepEqual([away.status, away.headers.get('retry-after')], [503, '5'])
    assert.match(away.json.error.message, /This log is in the object store, which does not answer now\./)
  }
  await server.startAgain()
  await until(() => storedLogs(server).length === before + 2, 'the second log was moved')
  assert.match((await service.call(`/v1/${first}/log`, { as })).text, /Live after/)
})

test('the closed part of an app’s log is moved, and goes with its environment', async () => {
  const { dataDir } = service
  const before = storedLogs(server)
  const added = () => storedLogs(server).filter((name) => !before.includes(name))
  const { name: environment } = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, environment, page('x'))).error, undefined)
  await until(() => added().length === 1)
  await service.stop()
  // As a log that was full leaves it.
  const log = join(dataDir, 'logs/runtime', `${environment.split('/').at(-1)}`)
  await rename(`${log}.log`, `${log}.older.log`)
  await writeFile(`${log}.log`, '')
  await appendFile(`${log}.log`, `{"number":2,"time":2,"stream":"stdout","phase":"LIVE","text":"the newer part"}\n`)
  service = await startServiceOn(file, { ...place, dataDir })
  await until(() => added().length === 2, 'the closed part is in the bucket')
  await until(async () => (await partsOf(environment)).length === 1)
  const { text } = await service.call(`/v1/${environment}/logs`, { as })
  assert.match(text, /^1 .* LIVE service .* is live.*\n2 .* the newer part\n$/)

  const deleted = await service.call(`/v1/${environment}`, { method: 'DELETE', as })
  assert.equal(deleted.status, 200)
  await until(async () => (await service.call(`/v1/${environment}`, { as })).status === 404)
  await service.stop()
  for (const object of server.objects.values()) object.time -= 60 * 60_000
  service = await startServiceOn(file, { ...place, dataDir })
  await until(() => added().length === 0, 'garbage collection removed both')
})
