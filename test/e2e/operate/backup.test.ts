/** Backups of the real service: made while it is busy, restored elsewhere. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { statement } from '../../../src/storage/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { openCheckout, remoteUrl } from '../../support/git/checkout.ts'
import { databaseSettings, OF_SQLITE } from '../../support/postgres/databases.ts'
import { deploy, type Files, page, untilDone, upload } from '../../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { heldBuild, untilHeld } from '../../support/service/held-build.ts'
import { type Login, startService, type TestService } from '../../support/service/service.ts'
import { createWebhooks, hook } from '../../support/service/webhooks.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))

/** Its build removes a file and a folder of the source: after a restore they must still be missing. */
const server: Files = {
  'package.json': JSON.stringify({ scripts: { build: 'node build.js', start: 'node server.js' } }),
  'build.js': `
    const fs = require('node:fs')
    fs.rmSync('gone.txt')
    fs.rmSync('folder', { recursive: true })
    fs.mkdirSync('folder')
    fs.writeFileSync('folder/made', '')
  `,
  'gone.txt': 'x',
  'folder/source': 'x',
  'server.js': `
    const fs = require('node:fs')
    const found = { secret: process.env.SECRET, gone: fs.existsSync('gone.txt'), folder: fs.readdirSync('folder') }
    require('node:http').createServer((_, response) => response.end(JSON.stringify(found))).listen(process.env.PORT, process.env.HOST)
  `,
}
const EXPECTED = { secret: 'a secret value', gone: false, folder: ['made'] }

const headland = (dataDir: string, ...args: string[]) =>
  promisify(execFile)(process.execPath, [HEADLAND, ...args], {
    env: { PATH: process.env.PATH, HEADLAND_DATA_DIR: dataDir },
  })

async function backUp(dataDir: string, ...args: string[]) {
  const env = { PATH: process.env.PATH, HEADLAND_DATA_DIR: dataDir, ...(await databaseSettings(dataDir)) }
  return promisify(execFile)(process.execPath, [HEADLAND, 'backup', ...args], { env })
}

/** What was restored has SQLite, also where the service before had PostgreSQL. */
const RESTORED = { HEADLAND_DATABASE_URL: '' }

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})

let started: Promise<TestService> | undefined
let saved: ReturnType<typeof backUpOnce> | undefined

/** A running service that several tests use. The last one ends it. */
function running(): Promise<TestService> {
  started ??= startService(file)
  return started
}

/** A backup of it, and its key. */
function backedUp() {
  saved ??= backUpOnce()
  return saved
}

async function backUpOnce() {
  const service = await running()
  const folder = await temporaryFolder(file)
  const [backup, keyFile] = [join(folder, 'backup.tar'), join(folder, 'key')]
  await backUp(service.dataDir, backup)
  await copyFile(join(service.dataDir, 'master.key'), keyFile)
  return { service, file: backup, keyFile }
}

/** Uploads, rebuilds, creates and deletes until it is stopped. */
function busy(service: TestService, as: Login, environment: string, app: string) {
  let isOver = false
  const path = `/v1/accounts/default/apps/${app}/environments`
  const body = { displayName: 'Passing', branch: 'uploadable', cmsEnvironment: 'cms' }
  async function uploads() {
    for (let count = 0; !isOver; count++) await deploy(service, as, environment, page(`version ${count}`))
  }
  async function deletes() {
    while (!isOver) {
      const made = await service.call(path, { method: 'POST', as, body })
      const [environment = ''] = made.json.name.split('/operations/')
      await untilDone(service, as, made.json.name)
      await deploy(service, as, environment, page('passing'))
      const gone = await service.call(`/v1/${environment}`, { method: 'DELETE', as })
      await untilDone(service, as, gone.json.name)
    }
  }
  const work = Promise.all([uploads(), deletes()])
  return async function stop() {
    isOver = true
    await work
  }
}

test('a backup of a busy service restores everything that was acknowledged before it, elsewhere', async (t) => {
  const service = await startService(t, { settings: { HEADLAND_CONCURRENCY: '3' } })
  const as = await service.login()
  const app = await createApp(service, as)
  const body = {
    displayName: 'Test',
    branch: 'uploadable',
    cmsEnvironment: 'cms',
    shellVariables: [{ key: 'SECRET', value: 'a secret value' }],
  }
  const [site, backend, moving, held] = [
    await createEnvironment(service, as, { app }),
    await createEnvironment(service, as, { app, body }),
    await createEnvironment(service, as, { app }),
    await createEnvironment(service, as, { app }),
  ]
  await deploy(service, as, site.name, page('as it was'))
  await deploy(service, as, backend.name, server)
  assert.deepEqual(JSON.parse((await siteAnswer(service, backend.url)).text), EXPECTED)
  const webhooks = await createWebhooks(service, as, site.name)
  const work = await openCheckout(join(await temporaryFolder(t), 'work'))
  const sha = await work.commit({ 'index.html': 'pushed' }, 'Kept')
  await work.git('push', '-q', remoteUrl(service, as, `default/${app}`), 'HEAD:refs/tags/kept')
  const waiting = await upload(service, as, held.name, heldBuild('backed-up', 'held'))
  await untilHeld('backed-up')
  const { json } = await service.call(`/v1/${site.name}/builds`, { as })
  const log = await service.call(`/v1/${json.builds[0].name}/log`, { as })

  const folder = await temporaryFolder(t)
  const file = join(folder, 'backup.tar.zst')
  const stop = busy(service, as, moving.name, app)
  const reports = []
  for (let count = 0; count < 3; count++) {
    const { stdout, stderr } = await backUp(service.dataDir, file, '--json', '--force')
    assert.match(stderr, /^headland: the master key [0-9a-f]{16} is not in the backup/m)
    reports.push(JSON.parse(stdout))
  }
  await stop()
  for (const { missing, damaged, leftOut } of reports) assert.deepEqual([missing, damaged, leftOut], [[], [], []])
  assert.deepEqual(await readdir(folder), ['backup.tar.zst'])

  const keyFile = join(folder, 'key')
  await copyFile(join(service.dataDir, 'master.key'), keyFile)
  await service.kill()
  await rm(service.dataDir, { recursive: true })

  const dataDir = join(folder, 'elsewhere')
  const check = ['restore', file, '--check', '--json'] as const
  await assert.rejects(headland(dataDir, ...check), { code: 1, stderr: /no master key at hand.*--key-file/ })
  const checked = JSON.parse((await headland(dataDir, ...check, '--key-file', keyFile)).stdout)
  assert.deepEqual([checked.files, checked.isProven], [reports.at(-1).files, true])
  await assert.rejects(headland(dataDir, 'restore', file), { code: 1, stderr: /--key-file FILE/ })
  assert.deepEqual((await readdir(folder)).sort(), ['backup.tar.zst', 'key'])
  const { stderr } = await headland(dataDir, 'restore', file, '--key-file', keyFile)
  assert.equal(stderr, '')

  const restored = await startService(t, { dataDir, settings: RESTORED })
  assert.match((await siteAnswer(restored, site.url)).text, /as it was/)
  assert.deepEqual(JSON.parse((await siteAnswer(restored, backend.url)).text), EXPECTED)
  assert.match((await siteAnswer(restored, moving.url)).text, /version \d+|Nothing deployed yet/)
  assert.equal((await restored.call(`/v1/${json.builds[0].name}/log`, { as })).text, log.text)
  await work.git('clone', '-q', '--branch', 'kept', remoteUrl(restored, as, `default/${app}`), 'clone')
  assert.equal(await work.git('-C', 'clone', 'rev-parse', 'HEAD'), sha)
  assert.equal((await hook(restored, webhooks.purgeCache)).status, 200)
  // Unfinished operations are resumed, and start again from the beginning.
  await (await untilHeld('backed-up')).goOn()
  assert.equal((await untilDone(restored, as, waiting.json.name)).error, undefined)
  assert.match((await siteAnswer(restored, held.url)).text, /^held/)
  assert.equal(await restored.stop(), 0)
})

test('a backup that is stopped half-way leaves no file and no retention hold behind', async (t) => {
  const service = await running()
  const { dataDir } = service
  const env = { PATH: process.env.PATH, HEADLAND_DATA_DIR: dataDir, ...(await databaseSettings(dataDir)) }
  // Its output is not read, so it stops in the middle.
  const child = spawn(process.execPath, [HEADLAND, 'backup', '-'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'readable')
  const sql = await service.openSql()
  t.after(() => sql.close())
  const count = async () => (await sql.query(statement`SELECT id FROM holds`)).length
  const scratch = async () => (await readdir(service.dataDir)).filter((name) => name.startsWith('backup-')).length
  assert.deepEqual([await count(), await scratch()], [1, 1])
  const exited = once(child, 'exit', { signal: AbortSignal.timeout(TIMEOUT_MS) })
  child.kill('SIGTERM')
  const [code] = await exited
  assert.equal(code, 1)
  assert.deepEqual([await count(), await scratch()], [0, 0])
})

test('a folder without a database is not backed up as an empty one, and a backup is not written into the folder that it saves', async (t) => {
  const dataDir = await temporaryFolder(t)
  await assert.rejects(headland(join(dataDir, 'misspelt'), 'backup', join(dataDir, 'x.tar')), {
    code: 1,
    stderr: /There is no database in .*misspelt/,
  })
  assert.deepEqual(await readdir(dataDir), [])
  await headland(dataDir, 'accounts', 'create', 'ours')
  await assert.rejects(headland(dataDir, 'backup', join(dataDir, 'x.tar')), {
    code: 1,
    stderr: /lies in the data folder/,
  })
  await assert.rejects(headland(dataDir, 'backup'), { code: 2 })
})

test('a restore over a running service is refused, and the service keeps running', async () => {
  const { service, file, keyFile } = await backedUp()
  for (const more of [[], ['--trust']])
    await assert.rejects(headland(service.dataDir, 'restore', file, '--key-file', keyFile, ...more), {
      code: 1,
      stderr: /is not empty\. Stop the service that uses it and move the folder away/,
    })
  assert.equal((await service.call('/readyz')).status, 200)
})

test('neither a service nor a command starts in a folder that a restore is filling', async (t) => {
  const dataDir = await temporaryFolder(t)
  await mkdir(join(dataDir, 'restoring'))
  for (const command of [['serve'], ['accounts', 'list']])
    await assert.rejects(headland(dataDir, ...command), { stderr: /A restore into .* is at work, or was killed/ })
  assert.deepEqual(await readdir(dataDir), ['restoring'])
})

test('a restore that waits for input ends at SIGTERM, and leaves nothing behind', async (t) => {
  const { file, keyFile } = await backedUp()
  const [folder, tmp] = [await temporaryFolder(t), await temporaryFolder(t)]
  const dataDir = join(folder, 'restored')
  const start = (await readFile(file)).subarray(0, 20_000)
  for (const more of [['--check'], []]) {
    const env = { PATH: process.env.PATH, HEADLAND_DATA_DIR: dataDir, TMPDIR: tmp }
    const args = [HEADLAND, 'restore', '-', '--key-file', keyFile, ...more]
    const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'ignore', 'pipe'] })
    t.after(() => child.kill('SIGKILL'))
    let output = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output += text
    })
    child.stdin.write(start)
    const where = more.length > 0 ? tmp : dataDir
    await until(async () => (await readdir(where).catch(() => [])).length > 0, 'it has begun')
    const exited = once(child, 'exit', { signal: AbortSignal.timeout(TIMEOUT_MS) })
    child.kill('SIGTERM')
    const [code] = await exited
    assert.deepEqual([code, output], [1, 'headland: It was interrupted. Nothing was left behind.\n'])
    assert.deepEqual(await readdir(tmp), [])
    assert.deepEqual(await readdir(folder), [])
  }
})

test('an altered backup is refused, and its text does not reach the terminal unescaped', async (t) => {
  const { file, keyFile } = await backedUp()
  const folder = await temporaryFolder(t)
  const dataDir = join(folder, 'restored')
  const tar = await readFile(file)
  const altered = join(folder, 'altered.tar')
  // Only the tag is changed.
  const tag = Buffer.from(tar)
  tag.write('00000000', tar.lastIndexOf('list.hmac') + 512, 'latin1')
  await writeFile(altered, tag)
  const restore = ['restore', altered, '--key-file', keyFile] as const
  await assert.rejects(headland(dataDir, ...restore), { code: 1, stderr: /Nothing proves that this backup is yours/ })
  const { stderr } = await headland(dataDir, ...restore, '--trust')
  assert.match(stderr, /WARNING: nothing proves that this backup is yours: it was altered/)

  // One clears the screen, and one is an 8-bit control character.
  const escaped = Buffer.from(tar)
  escaped.write('\x1b[2J\u009b31m', tar.indexOf('"headland": "') + 13, 'utf8')
  await writeFile(altered, escaped)
  const refused = headland(join(folder, 'other'), 'restore', altered, '--trust', '--key-file', keyFile)
  await assert.rejects(refused, (error: Error & { stderr: string }) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters, which must not be there
    assert.doesNotMatch(error.stderr, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/)
    assert.match(error.stderr, /^headland: The backup is broken/)
    return true
  })
})

test('a service ends when its folder is moved away and another one is restored in its place', OF_SQLITE, async (t) => {
  const { service, file, keyFile } = await backedUp()
  await rename(service.dataDir, `${service.dataDir}.old`)
  t.after(() => rm(`${service.dataDir}.old`, { recursive: true, force: true }))
  await headland(service.dataDir, 'restore', file, '--key-file', keyFile)
  await until(() => /headland\.db was moved or replaced while the service ran/.test(service.log()), 'it notices')
  const restored = await startService(t, { dataDir: service.dataDir })
  assert.equal((await restored.call('/readyz')).status, 200)
  assert.equal(await restored.stop(), 0)
})
