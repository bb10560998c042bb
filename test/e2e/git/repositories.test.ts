/** Environments that follow a repository on a real git server, over https and ssh. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer } from 'node:net'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { statement } from '../../../src/storage/index.ts'
import { openRaw } from '../../support/edge/raw.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { startRepositoryHost, startSshHost } from '../../support/git/repository-host.ts'
import { reasonToSkip } from '../../support/machine/network.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { createCommandLine } from '../../support/service/headland.ts'
import { startService } from '../../support/service/service.ts'
import { triggersOf } from '../../support/service/webhooks.ts'
import { addAddress } from '../../support/service/wordpress.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.push(end) }
after(async () => {
  for (const end of ends.toReversed()) await end()
})

const skip = (await reasonToSkip(file)) ?? false
const address = skip ? '127.0.0.1' : await addAddress(file)
const token = 'a-token-that-is-not-shown-0123456789'
const host = await startRepositoryHost(file, { address, token })
const sshPort = await freePort()
const first = await host.commit({ 'index.html': 'first' }, 'The first page')
const service = await startService(file, {
  settings: {
    HEADLAND_ALLOWED_NETWORKS: `${host.place},${address}:${sshPort}`,
    HEADLAND_EGRESS_HOSTS: host.place,
    NODE_EXTRA_CA_CERTS: host.certificate,
  },
})
const as = await service.login()
const { name, url } = await createEnvironment(service, as)
const path = `/v1/${name}/repository`
let hookSecret = ''

const read = async (at = path): Promise<resources.Repository> => (await service.call(at, { as })).json
const change = (body: object, at = path) => service.call(at, { method: 'PATCH', as, body })
const fetchNow = (at = path) => service.call(`${at}:fetch`, { method: 'POST', as })
const pageIs = (text: string, site = url) =>
  until(async () => (await siteAnswer(service, site)).text === text, `the site shows ${text}`)

test('a connected repository is fetched and deployed with its commit, and the provider is told', { skip }, async () => {
  const made = await service.call(path, { method: 'POST', as, body: { url: host.url, provider: 'GITHUB', token } })
  assert.equal(made.status, 200, made.text)
  hookSecret = made.json.hookSecret
  assert.ok(hookSecret.length > 20)
  assert.ok(!made.text.includes(token))
  await pageIs('first')
  const { lastCommit, problem, hasToken, fetching, lastOperation } = await read()
  assert.deepEqual(
    { lastCommit, problem, hasToken, fetching },
    { lastCommit: first, problem: null, hasToken: true, fetching: false },
  )
  const { json: operation } = await service.call(`/v1/${lastOperation}`, { as })
  assert.deepEqual(operation.metadata.commit, {
    sha: first,
    branch: 'main',
    subject: 'The first page',
    author: 'Ada Lovelace',
    repository: host.url,
  })
  assert.deepEqual(operation.metadata.requestedBy, {
    kind: 'REPOSITORY',
    name: `${host.url.slice('https://'.length)} main`,
  })
  const [trigger] = await triggersOf(service, as, name)
  assert.deepEqual([trigger?.action, trigger?.source, trigger?.operation], ['DEPLOY', 'API', lastOperation])
  assert.deepEqual(trigger?.commit, operation.metadata.commit)
  const { received, refused } = host.statuses
  await until(() => received.some(({ state }) => state === 'success'), 'the provider knows that it is live')
  assert.deepEqual(refused, [])
  const last = received.at(-1)
  assert.deepEqual([last?.provider, last?.commit, last?.targetUrl], ['GITHUB', first, url])
})

const ZERO = '0'.repeat(40)

async function push(
  secret: string,
  { ref = 'refs/heads/main', sha, at = name }: { ref?: string; sha: string; at?: string },
) {
  const body = JSON.stringify({ ref, after: sha, deleted: sha === ZERO, created: false })
  return fetch(`${service.api}/wh/v1/${at}/repository:push`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/044aadd',
      'x-github-event': 'push',
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
    body,
  })
}

test('a push that GitHub signs is deployed, and a call with a wrong signature changes nothing', { skip }, async () => {
  const sha = await host.commit({ 'index.html': 'second' }, 'The second page')
  const other = await createEnvironment(service, as)
  const answers: string[] = []
  for (const at of [name, other.name]) {
    const refused = await push('wrong', { sha, at })
    const { error } = (await refused.json()) as { error: { message: string } }
    answers.push(`${refused.status} ${error.message}`)
  }
  assert.equal(answers[0], answers[1])
  assert.match(answers[0] ?? '', /^401 /)
  assert.deepEqual([(await read()).lastCommit, (await read()).fetching], [first, false])
  const taken = await push(hookSecret, { sha })
  assert.deepEqual([taken.status, ((await taken.json()) as { state: string }).state], [200, 'WANTED'])
  await pageIs('second')
  const entry = (await triggersOf(service, as, name))[0]
  assert.deepEqual(
    [entry?.source, entry?.action, entry?.userAgent],
    ['REPOSITORY', 'DEPLOY', 'GitHub-Hookshot/044aadd'],
  )

  const again = await push(hookSecret, { sha })
  assert.equal(again.status, 200)
  await until(async () => (await triggersOf(service, as, name)).length === 3, 'the second call is in the ledger')
  assert.equal((await triggersOf(service, as, name))[0]?.operation, '')
  const elsewhere = await push(hookSecret, { ref: 'refs/tags/v1', sha })
  assert.equal(((await elsewhere.json()) as { state: string }).state, 'IGNORED')
})

test('what of a commit is not fetched is a warning of its build, and in the log', { skip }, async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12345\n`
  const sha = await host.commit({ 'index.html': 'second', 'photo.jpg': pointer }, 'A photo')
  assert.equal((await fetchNow()).status, 200)
  const build: resources.Build = await until(async () => {
    const [newest] = (await service.call(`/v1/${name}/builds`, { as })).json.builds
    return newest.commit.sha === sha && newest.state === 'SUCCEEDED' && newest
  }, 'the commit is built')
  assert.match(build.warnings[0] ?? '', /^Files of Git LFS are not fetched.*photo\.jpg/)
  const log = await service.call(`/v1/${build.name}/log`, { as })
  assert.ok(log.text.includes(`Warning: ${build.warnings[0]}`), log.text)
})

test('a body that is too large for a call is refused before it is read', { skip }, async () => {
  const connection = openRaw(service.api)
  const hook = new URL(`${service.api}/wh/v1/${name}/repository:push`)
  connection.send(`POST ${hook.pathname} HTTP/1.1\r\nHost: ${hook.host}\r\nContent-Length: 6291456\r\n\r\n`)
  assert.equal((await connection.answer()).status, 413)
  connection.end()
})

test('polling finds a new commit, and a build that fails is told with its reason', { skip }, async () => {
  const script = JSON.stringify({ scripts: { build: 'exit 3' } })
  const sha = await host.commit({ 'package.json': script }, 'A build that fails')
  assert.equal((await change({ pollMinutes: 1 })).status, 200)
  const sql = await service.openSql()
  file.after(() => sql.close())
  const [row] = await sql.query<{ next: number }>(statement`SELECT next_time AS next FROM repository_fetches`)
  assert.ok((row?.next ?? 0) > Date.now() + 30_000)
  await sql.transaction((tx) => tx.query(statement`UPDATE repository_fetches SET next_time = ${Date.now()}`))
  await until(async () => (await read()).lastCommit === sha, 'the poll found the commit')
  const told = await until(() => host.statuses.received.find(({ state }) => state === 'failure'), 'the failure is told')
  assert.equal(told.commit, sha)
  assert.match(told.description, /^BUILD_SCRIPT_FAILED: /)
  assert.match(told.targetUrl, /\/builds\//)
  assert.equal((await siteAnswer(service, url)).text, 'second')
  await change({ pollMinutes: null })
})

test('a wrong token is a clear problem, and no token is in a log, an answer or a row', { skip }, async () => {
  const wrong = 'another-token-9876543210'
  assert.equal((await change({ token: wrong })).status, 200)
  const { problem } = await until(async () => {
    const seen = await read()
    return seen.problem && seen
  }, 'there is a problem')
  assert.equal(problem?.reason, 'REPOSITORY_AUTHENTICATION_FAILED')
  assert.match(problem?.message ?? '', /may not be read/)
  const sql = await service.openSql()
  const rows = await sql.query(statement`SELECT * FROM repositories`)
  await sql.close()
  const seen = `${service.log()}${JSON.stringify(rows)}${JSON.stringify(await read())}`
  for (const secret of [wrong, token, hookSecret, Buffer.from(`oauth2:${wrong}`).toString('base64')])
    assert.ok(!seen.includes(secret))
  const missing = await change({ token, branch: 'missing' })
  assert.equal(missing.status, 200)
  await until(async () => (await read()).problem?.reason === 'REPOSITORY_BRANCH_NOT_FOUND', 'the branch is missed')
  assert.equal((await service.call(path, { method: 'DELETE', as })).status, 200)
  assert.equal((await service.call(path, { as })).status, 404)
})

test('a push of another branch makes its preview, which goes with the branch; without previews it is ignored', {
  skip,
}, async () => {
  const { name } = await createEnvironment(service, as)
  const app = `/v1/${name.split('/environments/')[0]}`
  const at = `/v1/${name}/repository`
  const body = { url: host.url, branch: 'missing', provider: 'GITHUB', token }
  const { json: made } = await service.call(at, { method: 'POST', as, body })
  const previews = async (): Promise<resources.Environment[]> => {
    const { json } = await service.call(`${app}/environments`, { as })
    return json.environments.filter(({ preview }: resources.Environment) => preview)
  }
  const called = async (sha: string) => {
    const answer = await push(made.hookSecret, { ref: 'refs/heads/feature/x', sha, at: name })
    return ((await answer.json()) as { state: string }).state
  }

  const sha = await host.commit({ 'index.html': 'a preview' }, 'A feature', 'feature/x')
  assert.equal(await called(sha), 'WANTED')
  const preview = await until(async () => (await previews())[0], 'there is a preview')
  assert.equal(preview.preview?.branch, 'feature/x')
  await pageIs('a preview', preview.url)
  await until(
    () => host.statuses.received.some(({ targetUrl }) => targetUrl === preview.url),
    'the provider knows its address',
  )
  assert.equal(await called(ZERO), 'REMOVED')
  await until(async () => (await previews()).length === 0, 'the preview is gone')

  assert.equal((await service.call(app, { method: 'PATCH', as, body: { previews: { enabled: false } } })).status, 200)
  assert.equal(await called(sha), 'IGNORED')
  assert.equal(await called(ZERO), 'IGNORED')
  assert.deepEqual(await previews(), [])
})

test('GitLab and Gitea are told that a build is pending, that it is live, and why one failed', { skip }, async () => {
  const { name, url } = await createEnvironment(service, as)
  const at = `/v1/${name}/repository`
  const toldTo = async (provider: string, state: string, commit: string) =>
    until(
      () =>
        host.statuses.received.find((one) => one.provider === provider && one.state === state && one.commit === commit),
      `${provider} is told of ${state}`,
    )
  /** A build that ends when the provider knows that it has begun. */
  const slow = (provider: string) => ({
    'package.json': JSON.stringify({ scripts: { build: 'node build.js' } }),
    'build.js': `
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
      fetch('https://${host.place}/told/${provider}/pending').then(({ ok }) => {
        if (!ok) process.exit(1)
        require('node:fs').mkdirSync('dist')
        require('node:fs').writeFileSync('dist/index.html', '${provider}')
      })`,
  })

  for (const provider of ['GITLAB', 'GITEA']) {
    const sha = await host.commit(slow(provider), `For ${provider}`)
    const isFirst = provider === 'GITLAB'
    const body = isFirst ? { url: host.url, provider, token } : { provider }
    const asked = await service.call(at, { method: isFirst ? 'POST' : 'PATCH', as, body })
    assert.equal(asked.status, 200, asked.text)
    if (!isFirst) await fetchNow(at)
    const [pending, success] = [await toldTo(provider, 'pending', sha), await toldTo(provider, 'success', sha)]
    assert.match(pending.targetUrl, /\/builds\//)
    assert.equal(success.targetUrl, url)
    assert.equal((await siteAnswer(service, url)).text, provider)
  }
  await change({ provider: 'GITLAB' }, at)
  const script = JSON.stringify({ scripts: { build: 'exit 3' } })
  const sha = await host.commit({ 'package.json': script }, 'It fails')
  await fetchNow(at)
  assert.match((await toldTo('GITLAB', 'failed', sha)).description, /^BUILD_SCRIPT_FAILED: /)
  assert.equal((await read(at)).statusProblem, null)
  assert.deepEqual(host.statuses.refused, [])
})

test('over ssh a deploy key is made, the key of the server is learned, and another one is refused', {
  skip,
}, async (t) => {
  const ssh = await startSshHost(t, { address, port: sshPort })
  await host.commit({ 'index.html': 'by ssh' }, 'Over ssh')
  const { name, url } = await createEnvironment(service, as)
  const at = `/v1/${name}/repository`
  const body = { url: `ssh://root@${address}:${sshPort}${host.bare}` }
  const { json: made } = await service.call(at, { method: 'POST', as, body })
  assert.match(made.publicKey, /^ssh-ed25519 \S+ headland-/)
  const problemIs = (reason: string) => until(async () => (await read(at)).problem?.reason === reason, reason)
  await fetchNow(at)
  await problemIs('REPOSITORY_AUTHENTICATION_FAILED')
  await ssh.allow(made.publicKey)
  await fetchNow(at)
  await pageIs('by ssh', url)
  const { knownHosts, problem } = await read(at)
  assert.equal(problem, null)
  assert.ok(knownHosts.startsWith(`[${address}]:${sshPort} `), knownHosts)
  await ssh.changeKey()
  await fetchNow(at)
  await problemIs('REPOSITORY_HOST_KEY_CHANGED')
  await service.call(at, { method: 'PATCH', as, body: { knownHosts: '' } })
  await until(
    async () => (await read(at)).problem === null && (await read(at)).knownHosts !== '',
    'it is learned again',
  )
  assert.notEqual((await read(at)).knownHosts, knownHosts)
})

test('an address that leads elsewhere is refused', async () => {
  for (const url of [
    'file:///etc',
    'ext::sh',
    'http://git.example.com/a/b',
    'https://me:secret@git.example.com/a/b',
    '-x',
  ]) {
    const refused = await service.call(path, { method: 'POST', as, body: { url } })
    assert.deepEqual([refused.status, refused.reason], [400, 'FIELD_INVALID'], url)
  }
})

test('from a terminal a connection is changed, and its hook gets another secret', async () => {
  const { name } = await createEnvironment(service, as)
  const at = `/v1/${name}/repository`
  const top = await temporaryFolder(file)
  const { headland } = createCommandLine(
    {
      PATH: process.env.PATH,
      HOME: top,
      HEADLAND_API_USER: as.userId,
      HEADLAND_API_PASSWORD: as.password,
      HEADLAND_URL: service.api,
    },
    top,
  )
  const [, , , app = '', , env = ''] = name.split('/')
  const run = (words: string[], input = '') =>
    headland(['repository', ...words, '--app', app, '--env', env, '--json'], { cwd: top, input })
  const connected = await run(['connect', 'https://gitea.invalid/acme/site.git', '--poll', '5'])
  assert.equal(connected.code, 0, connected.stderr)
  const changed = await run(
    ['change', '--branch', 'next', '--poll', '0', '--provider', 'gitlab', '--token'],
    'a-token\n',
  )
  assert.equal(changed.code, 0, changed.stderr)
  const { branch, pollMinutes, provider, hasToken } = await read(at)
  assert.deepEqual([branch, pollMinutes, provider, hasToken], ['next', null, 'GITLAB', true])
  assert.match((await run(['change'])).stderr, /nothing is changed/)
  assert.match((await run(['regenerate'])).stderr, /--yes/)
  const made = await run(['regenerate', '--yes'])
  const { hookSecret: next } = JSON.parse(made.stdout)
  assert.ok(next.length > 20)
  assert.notEqual(next, JSON.parse(connected.stdout).hookSecret)
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, address)
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
