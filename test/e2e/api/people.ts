/**
 * The requester of each operation, and the message and commit of each upload: on the real service, by API, session,
 * webhook and command line.
 */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { resources } from '../../../src/contract/index.ts'
import { LIMITS } from '../../../src/contract/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { formOf, page, untilDone, uploadWithQuery } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import type { ApiResponse, Login } from '../../support/service/service.ts'
import { createWebhooks, hook, triggersOf } from '../../support/service/webhooks.ts'
import { service } from './service.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))

const owner = await service.login('owner')

const issued = await service.call('/v1/accounts/default/credentials', {
  method: 'POST',
  as: owner,
  body: { role: 'developer', displayName: 'GitHub Actions' },
})
const ci: Login = issued.json
const CI = { kind: 'CREDENTIAL', name: 'GitHub Actions' }

const EMAIL = 'ada@example.com'
const ADA = { kind: 'USER', name: EMAIL }
const added = await service.call('/v1/accounts/default/users', {
  method: 'POST',
  as: owner,
  body: { email: EMAIL, role: 'developer' },
})
const session = await service.call('/v1/session', {
  method: 'POST',
  body: { email: EMAIL, password: added.json.password },
})
const asAda = { headers: { cookie: session.headers.get('set-cookie')?.split(';')[0] ?? '', origin: service.api } }

const described = (given: Record<string, string>) => `?${new URLSearchParams(given)}`

async function listOf<T>(environment: string, what: string): Promise<T[]> {
  const { json } = await service.call(`/v1/${environment}/${what}`, { as: owner })
  return json[what]
}

const SHA = 'c0ffee'.padEnd(40, '0')

test('every operation has the name of its requester, and keeps it when the user is removed', async () => {
  const { name } = await createEnvironment(service, ci)
  const act = async (path: string, method: string, body?: unknown): Promise<resources.Operation> => {
    const asked = await service.call(`/v1/${path}`, { ...asAda, method, ...(body ? { body } : {}) })
    assert.equal(asked.status, 200, asked.text)
    return untilDone(service, owner, asked.json.name)
  }
  const form = formOf(page('one'))
  const sent = await service.call(`/fu/v1/${name}:upload`, { ...asAda, method: 'POST', body: form })
  assert.equal(sent.status, 200, sent.text)
  assert.deepEqual(sent.json.metadata.requestedBy, ADA)
  const first = await untilDone(service, owner, sent.json.name)
  await act(`${name}:rebuild`, 'POST', { clean: false })
  await act(`${name}:clearCache`, 'POST', { paths: ['/a'] })
  await act(name, 'PATCH', { shellVariables: [{ key: 'A', value: '1' }] })
  await act(`${first.metadata.deployment}:activate`, 'POST')

  const operations = await listOf<resources.Operation>(name, 'operations')
  assert.deepEqual(
    operations.map(({ metadata: { trigger, requestedBy } }) => [trigger, requestedBy]),
    [
      ['ACTIVATE', ADA],
      ['UPDATE', ADA],
      ['PURGE_CACHE', ADA],
      ['REBUILD', ADA],
      ['UPLOAD', ADA],
      ['CREATE', CI],
    ],
  )
  const removed = await service.call(`/v1/${added.json.name}`, { method: 'DELETE', as: owner })
  assert.equal(removed.status, 200, removed.text)
  for (const what of ['builds', 'deployments', 'triggers']) {
    const items = await listOf<{ requestedBy: unknown }>(name, what)
    assert.ok(items.length > 0, what)
    for (const { requestedBy } of items) assert.deepEqual(requestedBy, ADA, what)
  }
  const gone = await service.call(`/v1/${name}`, { method: 'DELETE', as: ci })
  assert.deepEqual(gone.json.metadata.requestedBy, CI)
})

test('an upload has a message and a commit, which its rebuilds, deployments and triggers show', async () => {
  const { name } = await createEnvironment(service, ci)
  const message = '<b>Größer</b> \u{1F600} & "schöner"'
  const query = described({ message, commit: SHA, commitBranch: 'main', commitSubject: 'Fix it', commitDirty: 'true' })
  const commit = { sha: SHA, branch: 'main', subject: 'Fix it', isDirty: true }
  const sent = await uploadWithQuery(service, ci, { environment: name, query }, page('one'))
  assert.equal(sent.status, 200, sent.text)
  const { metadata } = await untilDone(service, ci, sent.json.name)
  assert.deepEqual([metadata.message, metadata.commit], [message, commit])
  const rebuilt = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as: ci })
  await untilDone(service, ci, rebuilt.json.name)
  for (const what of ['builds', 'deployments']) {
    for (const one of await listOf<resources.Build>(name, what)) {
      assert.deepEqual([one.message, one.commit, one.requestedBy], [message, commit, CI], what)
    }
  }
  const purged = await service.call(`/v1/${name}:clearCache`, { method: 'POST', as: ci, body: { paths: ['/a'] } })
  await untilDone(service, ci, purged.json.name)
  assert.deepEqual(
    (await triggersOf(service, ci, name)).map((one) => [one.action, one.commit]),
    [
      ['PURGE_CACHE', null],
      ['REBUILD', commit],
    ],
  )
  const [deployment] = await listOf<resources.Deployment>(name, 'deployments')
  const [build] = await listOf<resources.Build>(name, 'builds')
  assert.equal(deployment?.trigger, 'UPLOAD')
  assert.deepEqual(deployment?.archive, build?.archive)

  const plain = await uploadWithQuery(
    service,
    ci,
    { environment: name, query: described({ commit: SHA, commitSubject: 'Fix it' }) },
    page('two'),
  )
  assert.equal(plain.json.metadata.message, 'Fix it', 'the subject of the commit is used if there is no message')
  await untilDone(service, ci, plain.json.name)
})

test('an invalid message or commit is refused before the archive is read', async () => {
  const { name } = await createEnvironment(service, ci)
  const refused: Record<string, string>[] = [
    { message: 'a\x1b[2Jb' },
    { message: 'a\nb' },
    { message: ' ' },
    { message: 'x'.repeat(LIMITS.messageLength + 1) },
    { commit: 'HEAD' },
    { commit: 'abc1234' },
    { commit: SHA, commitBranch: 'x'.repeat(LIMITS.branchLength + 1) },
    { commit: SHA, commitSubject: 'a\u2028b' },
    { commit: SHA, commitDirty: 'perhaps' },
    { commitBranch: 'main' },
  ]
  for (const given of refused) {
    const { status, reason } = await uploadWithQuery(
      service,
      ci,
      { environment: name, query: described(given) },
      Buffer.from('no zip'),
    )
    assert.deepEqual([status, reason], [400, 'FIELD_INVALID'], JSON.stringify(given))
  }
  const longest = { message: '字'.repeat(LIMITS.messageLength), commitSubject: '字'.repeat(LIMITS.messageLength) }
  const query = described({ ...longest, commit: SHA, commitBranch: '字'.repeat(LIMITS.branchLength) })
  const taken = await uploadWithQuery(service, ci, { environment: name, query }, page('long'))
  assert.equal(taken.status, 200, taken.text)
  await untilDone(service, ci, taken.json.name)
})

test('a webhook is named by its caller, and its answer names no person, message or commit', async () => {
  const { name } = await createEnvironment(service, ci)
  const urls = await createWebhooks(service, ci, name, { quietSeconds: 0 })
  const query = described({ message: 'Secret plans', commit: SHA, commitBranch: 'secret-branch' })
  await untilDone(
    service,
    ci,
    (await uploadWithQuery(service, ci, { environment: name, query }, page('one'))).json.name,
  )
  const called: ApiResponse = await service.call(urls.rebuild.replace(/^https?:\/\/[^/]+/, ''), {
    method: 'POST',
    headers: { 'user-agent': 'WordPress/6.9; https://cms.example' },
  })
  assert.equal(called.status, 200, called.text)
  assert.doesNotMatch(called.text, /requestedBy|Secret|secret-branch|GitHub Actions|c0ffee/)
  await hook(service, urls.purgeCache)
  const triggers = await triggersOf(service, ci, name)
  assert.deepEqual(triggers.at(-1)?.requestedBy, { kind: 'WEBHOOK', name: 'WordPress/6.9' })
  assert.equal(triggers[0]?.requestedBy?.kind, 'WEBHOOK')
  const done = await untilDone(service, ci, called.json.name)
  assert.deepEqual(done.metadata.requestedBy, { kind: 'WEBHOOK', name: 'WordPress/6.9' })
  assert.equal(done.metadata.message, 'Secret plans')
})

test('a deploy of a git folder sends its commit and the message, and the tables show them', async (t) => {
  const folder = await temporaryFolder(t)
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' },
    }).trimEnd()
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'index.html'), '<p>from git</p>')
  git('init', '-q', '-b', 'feature/header')
  git('add', '.')
  git('commit', '-qm', 'Fix the header')
  const sha = git('rev-parse', 'HEAD')
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    HEADLAND_URL: service.api,
    HEADLAND_API_USER: ci.userId,
    HEADLAND_API_PASSWORD: ci.password,
  }
  const headland = async (...args: string[]) =>
    (await promisify(execFile)(process.execPath, [HEADLAND, ...args], { cwd: folder, env })).stdout
  const first = ['--app', `git-${process.pid}`, '--region', 'UK', '--env', 'Production', '--cms', 'none']
  await headland('deploy', ...first)
  await writeFile(join(folder, 'index.html'), '<p>changed since</p>')
  await headland('deploy', '--message', 'Try a larger header')

  const builds: resources.Build[] = JSON.parse(await headland('builds', '--json'))
  const commit = { sha, branch: 'feature/header', subject: 'Fix the header' }
  assert.deepEqual(
    builds.map((build) => [build.message, build.commit, build.requestedBy]),
    [
      ['Try a larger header', { ...commit, isDirty: true }, CI],
      ['Fix the header', { ...commit, isDirty: false }, CI],
    ],
  )
  for (const list of ['builds', 'deployments', 'operations']) {
    const text = await headland(list)
    for (const part of ['GitHub Actions', 'Try a larger header', sha.slice(0, 7), 'feature/header']) {
      assert.ok(text.includes(part), `${list}: ${part}\n${text}`)
    }
  }
  await assert.rejects(headland('deploy', '--message', 'a\x1b[2Jb'), { code: 2, stderr: /--message is one line/ })
})
