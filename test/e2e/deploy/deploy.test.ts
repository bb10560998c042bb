import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { rounds } from '../../support/long.ts'
import { deploy, nodeServer, page, reasonOf, untilDone, upload, uploadWithQuery } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startVisitors } from '../../support/service/load.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

// Two of the tests wait for it, and on a busy machine the apps of all others must start within it.
const service = await startService({ after }, { settings: { HEADLAND_START_TIMEOUT: '15' } })
const as = await service.login()

const DEPLOYMENTS = rounds({ short: 3, long: 100 })

test(`${DEPLOYMENTS} deployments in a row under constant load fail no request`, async (t) => {
  const { name, url } = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, name, nodeServer('version 0'))).error, undefined)
  const visitors = startVisitors(t, service, url)
  for (let version = 1; version <= DEPLOYMENTS; version++) {
    const done = await deploy(service, as, name, nodeServer(`version ${version}`))
    assert.equal(done.error, undefined, JSON.stringify(done.error))
  }
  const { count, failures } = await visitors.stop()
  assert.deepEqual(failures, [])
  assert.ok(count > DEPLOYMENTS)
  assert.equal((await siteAnswer(service, url)).text, `version ${DEPLOYMENTS}`)
})

const BAD = {
  'crashes at its start': { reason: 'START_CRASHED', script: 'throw new Error("no database")' },
  'listens on another port': { reason: 'PORT_NOT_BOUND', script: 'require("node:http").createServer().listen(0)' },
  'accepts but never answers': {
    reason: 'START_TIMEOUT',
    script: 'require("node:http").createServer(() => {}).listen(process.env.PORT, process.env.HOST)',
  },
}

// At the same time, since two of them wait until the time for a start is over.
describe('apps that do not start', { concurrency: true }, () => {
  for (const [what, { reason, script }] of Object.entries(BAD)) {
    test(`an app that ${what} leaves the old deployment serving and says why`, async () => {
      const { name, url } = await createEnvironment(service, as)
      await deploy(service, as, name, nodeServer('the old one'))
      const files = { 'package.json': JSON.stringify({ scripts: { start: 'node bad.js' } }), 'bad.js': script }
      const failed = await deploy(service, as, name, files)
      assert.equal(reasonOf(failed), reason, JSON.stringify(failed))
      assert.equal((await siteAnswer(service, url)).text, 'the old one')
      const build = await service.call(`/v1/${failed.metadata.build}`, { as })
      assert.deepEqual(
        [build.json.state, build.json.failure.reason, build.json.failure.fault],
        ['FAILED', reason, 'app'],
      )
      const { json } = await service.call(`/v1/${name}/deployments`, { as })
      assert.deepEqual(
        json.deployments.map(({ state }: { state: string }) => state),
        ['FAILED', 'LIVE'],
      )
    })
  }
})

test('a failed build script is reported with its reason and the line of the log that shows it', async () => {
  const { name } = await createEnvironment(service, as)
  const files = {
    'package.json': JSON.stringify({ scripts: { build: 'node build.js', start: 'node x.js' } }),
    'build.js': 'console.log("working"); console.error("Error: cannot find the moon"); process.exit(3)',
    'x.js': '',
  }
  const failed = await deploy(service, as, name, files)
  assert.equal(reasonOf(failed), 'BUILD_SCRIPT_FAILED')
  const { json } = await service.call(`/v1/${failed.metadata.build}`, { as })
  const log = await service.call(`/v1/${failed.metadata.build}/log?offset=${json.failure.logLine - 1}`, { as })
  assert.match(log.text.split('\n')[0] ?? '', /Error: cannot find the moon$/)
})

test('an archive without a plan fails with what was looked for', async () => {
  const { name } = await createEnvironment(service, as)
  const failed = await deploy(service, as, name, { 'notes.txt': 'nothing here' })
  assert.equal(reasonOf(failed), 'PLAN_FAILED')
  assert.match(failed.error?.message ?? '', /package\.json/)
  assert.match(failed.error?.message ?? '', /index\.html/)
})

test('validateOnly answers with the plan and builds nothing', async () => {
  const { name } = await createEnvironment(service, as)
  const answer = await uploadWithQuery(service, as, { environment: name, query: '?validateOnly=true' }, page('x'))
  assert.equal(answer.json.plan.framework, 'static')
  assert.deepEqual((await service.call(`/v1/${name}/builds`, { as })).json.builds, [])
})

test('an archive that is only validated is not kept, whether it has a plan or not', async () => {
  const { name } = await createEnvironment(service, as)
  const blobs = async () =>
    (await readdir(join(service.dataDir, 'blobs'), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name)
      .sort()
  const before = await blobs()
  const sent = Array.from({ length: 5 }, (_, index) =>
    uploadWithQuery(service, as, { environment: name, query: '?validateOnly=true' }, page(`validated ${index}`)),
  )
  for (const { status } of await Promise.all(sent)) assert.equal(status, 200)
  const refused = await uploadWithQuery(
    service,
    as,
    { environment: name, query: '?validateOnly=true' },
    { 'notes.txt': 'nothing here' },
  )
  assert.equal(refused.reason, 'PLAN_FAILED')
  assert.deepEqual(await blobs(), before)
})

/** Marks the process that the build starts, among those of all test runs. */
const LEFT = `left-by-a-build-${process.pid}`

const sleeper = {
  'package.json': JSON.stringify({ scripts: { build: 'node build.js', start: 'node x.js' } }),
  'build.js': `
    require('node:child_process').spawn('sh', ['-c', 'trap "" TERM; : ${LEFT}; while :; do sleep 1; done'], { detached: true, stdio: 'ignore' }).unref()
    console.log('asleep'); setInterval(() => {}, 1000)`,
  'x.js': '',
}

test('a cancelled build is gone with its whole process tree, and the environment is unchanged', async () => {
  const { name, url } = await createEnvironment(service, as)
  await deploy(service, as, name, page('before'))
  const asked = await upload(service, as, name, sleeper)
  const build = asked.json.metadata.build
  await untilLogHas(build, 'asleep')
  assert.notDeepEqual(await processesSaying(LEFT), [])
  await service.call(`/v1/${build}:cancel`, { method: 'POST', as })
  const done = await untilDone(service, as, asked.json.name)
  assert.equal(reasonOf(done), 'OPERATION_CANCELLED')
  assert.equal((await service.call(`/v1/${build}`, { as })).json.state, 'CANCELLED')
  assert.match((await siteAnswer(service, url)).text, /before/)
  assert.deepEqual(await processesSaying(LEFT), [])
  const id = name.split('/').at(-1) ?? ''
  assert.deepEqual(await readdir(join(service.dataDir, 'environments', id, 'work')), [])
})

async function processesSaying(text: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return commands.filter((command) => command.includes(text))
}

const untilLogHas = (build: string, text: string) =>
  until(async () => (await service.call(`/v1/${build}/log`, { as })).text.includes(text), `its log has: ${text}`)

test('a newer upload supersedes a waiting one, and says so', async () => {
  const { name, url } = await createEnvironment(service, as)
  const running = await upload(service, as, name, sleeper)
  await untilLogHas(running.json.metadata.build, 'asleep')
  const older = await upload(service, as, name, page('older'))
  const newer = await upload(service, as, name, page('newer'))
  const position = await service.call(`/v1/${newer.json.name}`, { as })
  assert.equal(position.json.metadata.queuePosition, 1)
  await service.call(`/v1/${running.json.name}:cancel`, { method: 'POST', as })
  const superseded = await untilDone(service, as, older.json.name)
  assert.deepEqual([reasonOf(superseded), superseded.error?.code], ['SUPERSEDED', 10])
  assert.ok(superseded.error?.message.includes(newer.json.name))
  assert.equal((await untilDone(service, as, newer.json.name)).error, undefined)
  assert.match((await siteAnswer(service, url)).text, /newer/)
})

test('a rebuild builds the last archive; without one it is refused; a waiting one is joined, or satisfied by an upload', async () => {
  const { name, url } = await createEnvironment(service, as)
  const rebuild = (body = {}) => service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body })
  assert.equal((await rebuild()).reason, 'NOTHING_UPLOADED')
  await deploy(service, as, name, page('first'))
  assert.equal((await untilDone(service, as, (await rebuild()).json.name)).error, undefined)

  const running = await upload(service, as, name, sleeper)
  await untilLogHas(running.json.metadata.build, 'asleep')
  const [one, two] = [await rebuild(), await rebuild({ clean: true })]
  assert.equal(one.json.name, two.json.name)
  const after = await upload(service, as, name, page('second'))
  await service.call(`/v1/${running.json.name}:cancel`, { method: 'POST', as })
  assert.equal((await untilDone(service, as, after.json.name)).error, undefined)
  const satisfied = await untilDone(service, as, one.json.name)
  assert.equal(satisfied.error, undefined)
  assert.match((await siteAnswer(service, url)).text, /second/)
})

test('the log is followed as it is written, resumes by line number, and hides the values of variables', async () => {
  const { name } = await createEnvironment(service, as, {
    body: {
      displayName: 'x',
      branch: 'uploadable',
      cmsEnvironment: 'cms',
      shellVariables: [{ key: 'TOKEN', value: 'not-for-your-eyes' }],
    },
  })
  const asked = await upload(service, as, name, {
    'package.json': JSON.stringify({ scripts: { build: 'node build.js', start: 'node x.js' } }),
    'build.js': 'console.log("the token is " + process.env.TOKEN)',
    'x.js': 'require("node:http").createServer((q, r) => r.end("up")).listen(process.env.PORT)',
  })
  const authorization = `Basic ${btoa(`${as.userId}:${as.password}`)}`
  const stream = await fetch(`${service.api}/v1/${asked.json.metadata.build}/log`, {
    headers: { authorization, accept: 'text/event-stream' },
  })
  const text = await stream.text()
  assert.match(text, /the token is \[secret\]/)
  assert.doesNotMatch(text, /not-for-your-eyes/)
  assert.match(text, /event: end\n/)
  const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
  assert.deepEqual(
    ids,
    ids.map((_, index) => index + 1),
  )
  const resumed = await fetch(`${service.api}/v1/${asked.json.metadata.build}/log`, {
    headers: { authorization, accept: 'text/event-stream', 'last-event-id': String(ids.length - 1) },
  })
  assert.deepEqual(
    [...(await resumed.text()).matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)),
    [ids.length],
  )
})

test('an app that dies is started again, and its log says so', async () => {
  const { name, url } = await createEnvironment(service, as)
  const done = await deploy(service, as, name, nodeServer('alive', `if (request.url === '/die') process.exit(7)`))
  await siteAnswer(service, url, '/die').catch(() => undefined)
  await until(async () => (await siteAnswer(service, url).catch(() => undefined))?.text === 'alive')
  assert.match((await service.call(`/v1/${name}/logs`, { as })).text, /The app ended by itself \(exit code 7\)/)
  const { json } = await service.call(`/v1/${done.metadata.deployment}`, { as })
  assert.deepEqual(json.instance, { state: 'RUNNING', running: 1, restarts: 1 })
})

test('a deployment that is made live again while it drains stays up when it has drained', async (t) => {
  const { name, url } = await createEnvironment(service, as)
  const hold = `
    if (request.url === '/held') {
      process.once('SIGTERM', () => console.log('asked to end'))
      return response.write('x')
    }`
  const first = await deploy(service, as, name, nodeServer('first', hold))
  const { hostname, port } = new URL(service.edge)
  const held = request({
    host: hostname,
    port,
    path: '/held',
    agent: false,
    headers: { host: new URL(url).host },
  }).end()
  t.after(() => held.destroy())
  held.on('error', () => undefined)
  await once(held, 'response')
  await deploy(service, as, name, nodeServer('second'))
  const asked = await service.call(`/v1/${first.metadata.deployment}:activate`, { method: 'POST', as })
  assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
  held.destroy()
  const runLog = async () => (await service.call(`/v1/${name}/logs`, { as })).text
  await until(async () => (await runLog()).includes('asked to end'))
  assert.equal((await siteAnswer(service, url)).text, 'first')
})

test('a deleted environment leaves no process, no folder, no log and no output', async () => {
  const { name, url } = await createEnvironment(service, as)
  await deploy(service, as, name, nodeServer('soon gone'))
  const id = name.split('/').at(-1) ?? ''
  const asked = await service.call(`/v1/${name}`, { method: 'DELETE', as })
  assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
  assert.doesNotMatch((await siteAnswer(service, url)).text, /soon gone/)
  assert.ok(!(await readdir(join(service.dataDir, 'environments'))).includes(id))
  assert.ok(!(await readdir(join(service.dataDir, 'logs', 'runtime'))).some((file) => file.startsWith(id)))
})
