/** Previews and promotion on a real service: from the command line, with what visitors and builds get. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { statement } from '../../../src/storage/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, type Files, page, untilDone } from '../../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { createCommandLine, eventsOf } from '../../support/service/headland.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const service = await startService({ after })
const as = await service.login('developer')
const top = await temporaryFolder({ after })
await mkdir(join(top, 'home'))
const { headland, project } = createCommandLine(
  {
    PATH: process.env.PATH,
    HOME: join(top, 'home'),
    HEADLAND_API_USER: as.userId,
    HEADLAND_API_PASSWORD: as.password,
    HEADLAND_URL: service.api,
  },
  top,
)

/** Its build keeps what it sees in a file that only its own user may read; its answers say that, and what it sees now. */
const app = (version: string): Files => ({
  'package.json': JSON.stringify({ scripts: { build: 'node build.js', start: 'node server.js' } }),
  'build.js': `
    const { PUBLIC, TOKEN } = process.env
    require('node:fs').writeFileSync('built.json', JSON.stringify({ PUBLIC, TOKEN }), { mode: 0o600 })`,
  'server.js': `
    const built = JSON.parse(require('node:fs').readFileSync('built.json', 'utf8'))
    const { PUBLIC, TOKEN, HEADLESS_METADATA_ENV_ID: id } = process.env
    const text = JSON.stringify({ version: ${JSON.stringify(version)}, built, now: { PUBLIC, TOKEN }, id })
    require('node:http').createServer((_, response) => response.end(text)).listen(process.env.PORT, process.env.HOST)`,
})

const VARIABLES = [
  { key: 'PUBLIC', kind: 'PLAIN', value: 'shown' },
  { key: 'TOKEN', kind: 'SECRET', value: 'hidden' },
]
const production = await createEnvironment(service, as, {
  app: await createApp(service, as, { app: 'shop' }),
  body: {
    displayName: 'Production',
    branch: 'uploadable',
    cmsEnvironment: 'cms',
    production: true,
    shellVariables: VARIABLES,
  },
})
const APP = '/v1/accounts/default/apps/shop'

async function read(name: string): Promise<resources.Environment> {
  return (await service.call(`/v1/${name}`, { as })).json
}
async function settings(previews: object) {
  const changed = await service.call(APP, { method: 'PATCH', as, body: { previews } })
  assert.equal(changed.status, 200, changed.text)
}
async function change(name: string, body: object) {
  const asked = await service.call(`/v1/${name}`, { method: 'PATCH', as, body })
  assert.equal(asked.status, 200, asked.text)
  assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
}
const answerOf = async ({ url }: { url: string }) => JSON.parse((await siteAnswer(service, url)).text)
const lastEvent = (stdout: string) => eventsOf(stdout).at(-1)

test('a deploy to a preview of the current branch makes it, with variables and without secrets, for no search engine', async () => {
  assert.equal((await deploy(service, as, production.name, app('one'))).error, undefined)
  const cwd = await project(app('two'))
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', cwd, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args])
  git('init', '-q', '-b', 'feature/Login')
  git('add', '.')
  git('commit', '-qm', 'The form')
  const { code, stdout, stderr } = await headland(['deploy', '--app', 'shop', '--preview', '--json'], { cwd })
  assert.equal(code, 0, stderr + stdout)
  const made = eventsOf(stdout).find(({ event }) => event === 'preview')
  assert.match(String(made?.url), /shop-feature-login-[0-9a-z]{10}\./)
  assert.equal(lastEvent(stdout)?.url, made?.url)
  const preview = await read(String(made?.environment))
  assert.deepEqual(
    [preview.displayName, preview.production, preview.preview?.branch],
    ['feature/Login', false, 'feature/Login'],
  )
  assert.deepEqual(preview.preview?.inheritedVariables, ['PUBLIC'])
  assert.deepEqual((await answerOf(preview)).built, { PUBLIC: 'shown' })
  assert.equal((await siteAnswer(service, preview.url)).headers['x-robots-tag'], 'noindex')
  assert.equal((await siteAnswer(service, production.url)).headers['x-robots-tag'], undefined)

  // The project file still names no preview, and the same branch has the same preview.
  const again = await headland(['deploy', '--app', 'shop', '--preview', 'feature/Login'], { cwd })
  assert.equal(again.stdout.trim(), preview.url, again.stderr)
  const listed = await headland(['previews', '--app', 'shop', '--json'], { cwd })
  assert.deepEqual(
    JSON.parse(listed.stdout).map(({ name }: { name: string }) => name),
    [preview.name],
  )
})

test('a promotion that needs a build is refused where none is wanted, and says which names differ and no values', async () => {
  const args = ['promote', 'feature/Login', '--app', 'shop', '--to', 'Production', '--yes']
  const refused = await headland([...args, '--no-build'], { cwd: top })
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /other values of: TOKEN\..*PROMOTION_NEEDS_BUILD/s)
  assert.doesNotMatch(refused.stderr, /hidden/)
  const built = await headland([...args, '--json'], { cwd: top })
  assert.equal(built.code, 0, built.stderr + built.stdout)
  const [first] = eventsOf(built.stdout)
  assert.deepEqual([first?.event, first?.built, first?.differing], ['promotion', true, ['TOKEN']])
  const live = await read(production.name)
  const { built: seen, version } = await answerOf(live)
  assert.deepEqual([version, seen.TOKEN], ['two', 'hidden'])
  const { json: build } = await service.call(`/v1/${live.build}`, { as })
  assert.deepEqual(
    [build.trigger, build.promotedFrom.displayName, build.commit.subject],
    ['UPLOAD', 'feature/Login', 'The form'],
  )
})

test('with the same variables the same output goes live without a build, and stays when the preview is deleted', async () => {
  await settings({ secrets: true })
  const cwd = await project(app('three'))
  const sent = await headland(['deploy', '--app', 'shop', '--preview', 'next', '--json'], { cwd })
  assert.equal(sent.code, 0, sent.stderr + sent.stdout)
  const promoted = await headland(
    ['promote', 'next', '--app', 'shop', '--to', 'Production', '--no-build', '--yes', '--json'],
    { cwd: top },
  )
  assert.equal(promoted.code, 0, promoted.stderr)
  const live = await read(production.name)
  const id = live.name.split('/').at(-1)
  const WITH = { PUBLIC: 'shown', TOKEN: 'hidden' }
  assert.deepEqual(await answerOf(live), { version: 'three', built: WITH, now: WITH, id })

  const sql = await service.openSql()
  const outputs = await sql.query(statement`
    SELECT DISTINCT output_digest FROM builds WHERE output_digest IN (
      SELECT output_digest FROM builds WHERE trigger_name = 'PROMOTE')`)
  await sql.close()
  assert.equal(outputs.length, 1)
  const { json: deployment } = await service.call(`/v1/${live.deployment}`, { as })
  assert.deepEqual([deployment.trigger, deployment.promotedFrom.displayName], ['PROMOTE', 'next'])
  const { text: log } = await service.call(`/v1/${live.build}/log`, { as })
  assert.match(log, /Promoted from next.*Nothing is built/)

  const deleted = await headland(['previews', 'delete', 'next', '--app', 'shop', '--yes'], { cwd: top })
  assert.equal(deleted.code, 0, deleted.stderr)
  await change(live.name, { shellVariables: [...VARIABLES, { key: 'MORE', kind: 'PLAIN', value: 'x' }] })
  assert.equal((await answerOf(live)).version, 'three')
  const rebuilt = await service.call(`/v1/${live.name}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal((await untilDone(service, as, rebuilt.json.name)).error, undefined)
  assert.equal((await answerOf(live)).version, 'three', 'a rebuild builds the promoted archive')
})

test('two deploys of one new branch at once make one preview, and one too many is refused with what to do', async () => {
  const ask = (branch: string) => service.call(`${APP}:preview`, { method: 'POST', as, body: { branch } })
  const both = await Promise.all([ask('twice'), ask('twice'), ask('twice')])
  assert.deepEqual(new Set(both.map(({ json }) => json.name)).size, 1, both[0]?.text)
  await settings({ maxCount: 2 })
  const full = await ask('one too many')
  assert.deepEqual([full.status, full.reason], [429, 'PREVIEW_LIMIT'])
  assert.match(full.text, /feature\/Login was idle for longest/)
  const viewer = await service.login('viewer')
  const body = { branch: 'twice' }
  assert.equal((await service.call(`${APP}:preview`, { method: 'POST', as: viewer, body })).status, 403)
  const target = { target: production.name }
  const promote = `/v1/${both[0]?.json.name}:promote`
  assert.equal((await service.call(promote, { method: 'POST', as, body: target })).reason, 'NOTHING_TO_PROMOTE')
  assert.equal((await service.call(promote, { method: 'POST', as: viewer, body: target })).status, 403)
})

test('the preview of a protected site is protected too, at once', async () => {
  const { json } = await service.call(`${APP}:preview`, { method: 'POST', as, body: { branch: 'twice' } })
  assert.equal((await deploy(service, as, json.name, page('a preview'))).error, undefined)
  assert.equal((await siteAnswer(service, json.url)).status, 200)
  await change(production.name, { protection: { password: 'correct horse' } })
  await until(async () => (await siteAnswer(service, json.url)).status === 401)
  const basic = { authorization: `Basic ${Buffer.from('x:correct horse').toString('base64')}` }
  assert.match((await siteAnswer(service, json.url, '/', basic)).text, /a preview/)
})
