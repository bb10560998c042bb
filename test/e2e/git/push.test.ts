/** Every app is a remote of git, tried with the real git. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { statement } from '../../../src/storage/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { openCheckout, remoteUrl, runGit } from '../../support/git/checkout.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
const service = await startService(scope, { settings: { HEADLAND_ARCHIVE_BYTES: String(4 * 1024 * 1024) } })
const as = await service.login()
const folder = await temporaryFolder(scope)
after(async () => {
  for (const end of ends) await end()
})

const SLOW = {
  'package.json': JSON.stringify({ scripts: { build: 'sleep 3 && mkdir -p dist && cp index.html dist' } }),
}
const FAILING = { 'package.json': JSON.stringify({ scripts: { build: 'echo no such luck; exit 3' } }) }
const POINTER = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12345\n`

const app = await createApp(service, as, { app: 'site' })
const production = await createEnvironment(service, as, {
  app,
  body: { displayName: 'Production', branch: 'main', cmsEnvironment: 'cms' },
})
const url = remoteUrl(service, as, `default/${app}`)
const work = await openCheckout(join(folder, 'work'), url)
const page = async () => (await siteAnswer(service, production.url)).text

/** A request that no git would send; resolves to its status. */
function send(what: string, headers: Record<string, string>, body?: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const authorization = `Basic ${btoa(`${as.userId}:${as.password}`)}`
    const calling = request(`${service.api}/git/default/${app}.git/${what}`, {
      method: 'POST',
      headers: { authorization, ...headers },
    })
    calling.on('response', ({ statusCode = 0 }) => {
      calling.destroy()
      resolve(statusCode)
    })
    calling.on('error', reject)
    if (body) calling.end(body)
    else calling.flushHeaders()
  })
}

test('a push to the branch of an environment is built and live when it ends, with the log', async () => {
  const sha = await work.commit({ 'index.html': 'first' }, 'The first page')
  const pushed = await work.try('push', 'origin', 'main')
  assert.equal(pushed.code, 0, pushed.text)
  assert.match(pushed.text, /remote: Building for Production: http.*\/builds\//)
  assert.match(pushed.text, /remote: Live: http/)
  assert.equal(await page(), 'first')
  const builds = await service.call(`/v1/${production.name}/builds`, { as })
  assert.deepEqual(builds.json.builds[0].commit, {
    sha,
    branch: 'main',
    subject: 'The first page',
    author: 'Ada Lovelace',
  })
  const audit = await service.call('/v1/accounts/default/auditEvents?action=PUSH', { as: await service.login('owner') })
  const [event, ...others] = audit.json.auditEvents
  assert.deepEqual([event.way, event.by.kind, others], ['GIT', 'CREDENTIAL', []])
})

test('a clone has what was pushed, with protocol v2, and a shallow one can push', async () => {
  const clone = join(folder, 'clone')
  const cloned = await runGit(folder, ['-c', 'protocol.version=2', 'clone', '-q', url, clone])
  assert.equal(cloned.code, 0, cloned.text)
  assert.equal(await readFile(join(clone, 'index.html'), 'utf8'), 'first')
  await work.commit({ 'index.html': 'second' }, 'The second page')
  assert.equal((await work.try('push', 'origin', 'main')).code, 0)
  const shallow = join(folder, 'shallow')
  assert.equal((await runGit(folder, ['clone', '-q', '--depth', '1', url, shallow])).code, 0)
  const other = await openCheckout(shallow)
  assert.equal(await other.git('rev-list', '--count', 'HEAD'), '1')
  await other.commit({ 'index.html': 'third' }, 'The third page')
  const pushed = await other.try('push', 'origin', 'main')
  assert.equal(pushed.code, 0, pushed.text)
  assert.equal(await page(), 'third')
  await work.git('pull', '-q', '--ff-only', 'origin', 'main')
})

test('a push whose build fails is refused with the reason and what was not fetched, and the branch stays', async () => {
  const before = await work.git('rev-parse', 'HEAD')
  await work.commit({ ...FAILING, 'photo.jpg': POINTER }, 'This breaks')
  const pushed = await work.try('push', 'origin', 'main')
  assert.equal(pushed.code, 1, pushed.text)
  assert.match(pushed.text, /remote: Warning: Files of Git LFS are not fetched.*photo\.jpg/)
  assert.match(pushed.text, /remote: no such luck/)
  assert.match(pushed.text, /remote: Production: BUILD_SCRIPT_FAILED\. .*\/builds\//)
  assert.match(pushed.text, /pre-receive hook declined/)
  assert.match(await work.git('ls-remote', 'origin', 'refs/heads/main'), new RegExp(`^${before}`))
  assert.equal(await page(), 'third')
})

test('with headland.detach a push does not wait for its build', async () => {
  const pushed = await work.try('push', '-o', 'headland.detach', 'origin', 'main')
  assert.equal(pushed.code, 0, pushed.text)
  assert.match(pushed.text, /remote: Files of Git LFS[\s\S]*remote: Builds for Production: http/)
  assert.doesNotMatch(pushed.text, /no such luck/)
})

test('history is replaced by a forced push only, and one that is behind has to fetch first', async () => {
  await work.git('reset', '-q', '--hard', 'HEAD~1')
  await work.commit({ 'index.html': 'fourth' }, 'Instead')
  const refused = await work.try('push', 'origin', 'main')
  assert.equal(refused.code, 1)
  assert.match(refused.text, /fetch first|non-fast-forward/)
  const forced = await work.try('push', '--force', 'origin', 'main')
  assert.equal(forced.code, 0, forced.text)
  assert.equal(await page(), 'fourth')
})

test('a push to another branch makes a preview with that commit, which goes with the branch', async () => {
  const before = await page()
  const sha = await work.commit({ 'index.html': 'feature' }, 'A feature')
  const pushed = await work.try('push', 'origin', 'HEAD:refs/heads/feature/x')
  assert.equal(pushed.code, 0, pushed.text)
  const live = /remote: Live: (http\S+)/.exec(pushed.text)?.[1] ?? ''
  assert.equal((await siteAnswer(service, live)).text, 'feature')
  assert.equal(await page(), before)
  const previews = async () => {
    const { json } = await service.call(`/v1/accounts/default/apps/${app}/environments`, { as })
    return json.environments.filter(({ branch }: { branch: string }) => branch === 'feature/x')
  }
  const [preview] = await previews()
  const { json } = await service.call(`/v1/${preview.name}/builds`, { as })
  assert.equal(json.builds[0].commit.sha, sha)
  const deleted = await work.try('push', 'origin', '--delete', 'feature/x')
  assert.equal(deleted.code, 0, deleted.text)
  await until(async () => (await previews()).length === 0, 'the preview is removed')
  await until(async () => (await siteAnswer(service, live)).status === 404, 'the preview answers no more')
  await work.git('reset', '-q', '--hard', 'HEAD~1')
})

/** An app that deploys nothing. */
const quiet = await createApp(service, as, { app: 'quiet' })
const quietUrl = remoteUrl(service, as, `default/${quiet}`)
const muted = await service.call(`/v1/accounts/default/apps/${quiet}`, {
  method: 'PATCH',
  as,
  body: { previews: { enabled: false } },
})
assert.equal(muted.status, 200, muted.text)

/** All that a push leaves: rows, blobs, and folders. */
async function leftBy(appName: string) {
  const sql = await service.openSql()
  try {
    const rows = await sql.query(statement`
      SELECT git_packs.name AS name, 'pack' AS target FROM git_packs JOIN apps ON apps.id = app_id WHERE apps.name = ${appName}
      UNION ALL
      SELECT git_refs.name, target FROM git_refs JOIN apps ON apps.id = app_id WHERE apps.name = ${appName}
      UNION ALL SELECT id, 'build' FROM builds
      ORDER BY 1`)
    const blobs = (await readdir(join(service.dataDir, 'blobs'), { recursive: true })).sort()
    return { rows, blobs, folders: await readdir(join(service.dataDir, 'git')) }
  } finally {
    await sql.close()
  }
}

test('without previews, tags and branches that no environment names are kept and build nothing, and can be deleted', async () => {
  const builds = async () => (await leftBy(quiet)).rows.filter(({ target }) => target === 'build').length
  const before = await builds()
  await work.git('tag', '-a', 'v1', '-m', 'One')
  const pushed = await work.try('push', quietUrl, 'v1', 'main', 'main:refs/heads/feature/x')
  assert.equal(pushed.code, 0, pushed.text)
  assert.match(pushed.text, /No environment deploys the branch feature\/x/)
  assert.match(await work.git('ls-remote', quietUrl), /refs\/heads\/feature\/x\n.*main\n.*refs\/tags\/v1\n.*v1\^\{\}/)
  const deleted = await work.try('push', quietUrl, '--delete', 'feature/x', 'v1')
  assert.equal(deleted.code, 0, deleted.text)
  assert.doesNotMatch(await work.git('ls-remote', quietUrl), /feature|v1/)
  assert.equal(await builds(), before)
})

test('twenty pushes at once all arrive, and of those to one branch one wins', async () => {
  const main = await work.git('rev-parse', 'main')
  const each = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      const one = await openCheckout(join(folder, `one-${index}`), quietUrl)
      await one.git('fetch', '-q', work.folder, 'main')
      await one.git('reset', '-q', '--hard', main)
      await one.commit({ [`${index}.txt`]: String(index) }, `Number ${index}`)
      return one
    }),
  )
  const pushed = await Promise.all(
    each.flatMap((one, index) => [
      one.try('push', 'origin', `HEAD:refs/heads/many/${index}`),
      one.try('push', 'origin', 'HEAD:refs/heads/shared'),
    ]),
  )
  const own = pushed.filter((_, index) => index % 2 === 0)
  assert.deepEqual(
    own.map(({ code }) => code),
    own.map(() => 0),
    own.find(({ code }) => code !== 0)?.text,
  )
  const shared = pushed.filter((_, index) => index % 2 === 1)
  assert.equal(shared.filter(({ code }) => code === 0).length, 1)
  for (const { code, text } of shared)
    if (code !== 0) assert.match(text, /Fetch first|fetch first|reference already exists/)
  assert.equal((await work.git('ls-remote', quietUrl, 'refs/heads/many/*')).split('\n').length, 10)
  assert.equal((await runGit(folder, ['clone', '-q', '--mirror', quietUrl, join(folder, 'all')])).code, 0)
  assert.equal((await runGit(join(folder, 'all'), ['fsck', '--strict'])).code, 0)
})

test('a push from a shallow clone to a remote without its history is refused, and leaves nothing', async () => {
  const shallow = await openCheckout(join(folder, 'other-shallow'))
  await shallow.git('fetch', '-q', '--depth', '1', url, 'main')
  await shallow.git('reset', '-q', '--hard', 'FETCH_HEAD')
  const empty = await createApp(service, as, { app: 'empty' })
  const before = await leftBy(empty)
  const pushed = await shallow.try('push', remoteUrl(service, as, `default/${empty}`), 'HEAD:refs/heads/main')
  assert.equal(pushed.code, 1, pushed.text)
  assert.match(pushed.text, /shallow update not allowed/)
  await until(async () => (await readdir(join(service.dataDir, 'git'))).length === 0, 'the folders of git are removed')
  assert.deepEqual(await leftBy(empty), before)
})

test('a pusher who is killed while the pack arrives leaves nothing', async (t) => {
  // Passes on so many bytes of a connection, and then no more.
  const { hostname, port } = new URL(service.api)
  const slow = createServer((pusher) => {
    const onward = connect(Number(port), hostname)
    let bytes = 0
    pusher.on('data', (chunk) => {
      // What follows is read and dropped, so that the end of the pusher is noticed.
      if (bytes < 256 * 1024) onward.write(chunk)
      bytes += chunk.length
    })
    onward.pipe(pusher)
    for (const [one, other] of [[pusher, onward] as const, [onward, pusher] as const]) {
      one.on('error', () => undefined)
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve))
  t.after(() => slow.close())
  const large = await openCheckout(join(folder, 'interrupted'))
  await large.commit({ 'large.txt': randomBytes(2 * 1024 * 1024).toString('base64') }, 'Large')
  const through = new URL(url)
  through.port = String((slow.address() as AddressInfo).port)
  const before = await leftBy(app)
  const pushing = spawn('git', ['push', through.href, 'HEAD:refs/heads/interrupted'], {
    cwd: large.folder,
    env: { PATH: '/usr/bin:/bin' },
    detached: true,
  })
  const received = async () => {
    const git = join(service.dataDir, 'git')
    const sizes = (await readdir(git)).map(async (name) => (await stat(join(git, name, 'request'))).size)
    return Math.max(0, ...(await Promise.all(sizes.map((size) => size.catch(() => 0)))))
  }
  await until(async () => (await received()) > 100 * 1024, 'a part of the pack has arrived')
  process.kill(-(pushing.pid as number), 'SIGKILL')
  await until(async () => (await readdir(join(service.dataDir, 'git'))).length === 0, 'the folders of git are removed')
  assert.deepEqual(await leftBy(app), before)
})

test('more than an archive may have is refused: by what it says, by what it sends, and by what it unpacks to', async () => {
  const large = await openCheckout(join(folder, 'large'), url)
  await large.commit({ 'large.txt': randomBytes(5 * 1024 * 1024).toString('base64') }, 'Large')
  const pushed = await large.try('push', 'origin', 'HEAD:refs/heads/large')
  assert.notEqual(pushed.code, 0)
  assert.match(pushed.text, /PUSH_TOO_LARGE|413/)
  assert.equal(await work.git('ls-remote', 'origin', 'large'), '')
  const said = await send('git-receive-pack', { 'content-length': String(1024 ** 3) })
  assert.equal(said, 413)
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
  const unpacked = await send(
    'git-upload-pack',
    { 'content-encoding': 'gzip', 'content-length': String(bomb.length) },
    bomb,
  )
  assert.equal(unpacked, 413)
})

test('credentials are asked for, and an app of others is like one that does not exist', async () => {
  const none = await runGit(folder, ['ls-remote', remoteUrl(service, undefined, `default/${app}`)])
  assert.match(none.text, /could not read Username|Authentication failed/)
  const wrong = await runGit(folder, ['ls-remote', remoteUrl(service, { ...as, password: 'wrong' }, `default/${app}`)])
  assert.match(wrong.text, /Authentication failed/)
  const viewer = await service.login('viewer')
  assert.match(
    (await runGit(folder, ['ls-remote', remoteUrl(service, viewer, `default/${app}`)])).text,
    /ROLE_TOO_WEAK|403/,
  )
  await service.operator('accounts', 'create', 'others')
  const foreign = await service.login('owner', 'others')
  const answers = await Promise.all(
    [`default/${app}`, 'default/nothing', 'others/nothing', 'nowhere/nothing', 'default/..%2f..%2fetc'].map(
      async (path) => (await runGit(folder, ['ls-remote', remoteUrl(service, foreign, path)])).text,
    ),
  )
  for (const text of answers) assert.match(text, /There is no such app, or it is not yours/)
})

/** An object as given, whatever git thinks of it. */
async function writeObject(kind: string, content: Buffer): Promise<string> {
  const made = await runGit(work.folder, ['hash-object', '-t', kind, '--literally', '-w', '--stdin'], content)
  assert.equal(made.code, 0, made.text)
  return made.stdout
}

const entry = (mode: string, name: string, object: string) =>
  Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(object, 'hex')])

test('trees with paths that are none, and links that lead out, are refused', async () => {
  const blob = await writeObject('blob', Buffer.from('[core]\n\tfsmonitor = "touch /tmp/owned"\n'))
  const out = await writeObject('blob', Buffer.from('../../../etc/passwd'))
  const config = await writeObject('tree', entry('100644', 'config', blob))
  const trees: [what: string, tree: Buffer, why: RegExp][] = [
    ['.git', entry('40000', '.git', config), /hasDotgit/],
    ['.GIT', entry('40000', '.GIT', config), /hasDotgit/],
    ['..', entry('40000', '..', config), /hasDotdot/],
    ['a/b', entry('100644', 'a/../../b', blob), /fullPathname/],
    ['twice', Buffer.concat([entry('100644', 'a', blob), entry('100644', 'a', blob)]), /duplicateEntries/],
    ['a link', Buffer.concat([entry('100644', 'a', blob), entry('120000', 'out', out)]), /ARCHIVE_ENTRY_UNSAFE/],
    ['case', Buffer.concat([entry('100644', 'A', blob), entry('100644', 'a', blob)]), /ARCHIVE_ENTRY_DUPLICATE/],
  ]
  const before = await work.git('ls-remote', 'origin', 'main')
  for (const [what, tree, why] of trees) {
    const commit = await work.git('commit-tree', '-m', what, await writeObject('tree', tree))
    const pushed = await work.try('push', '--force', 'origin', `${commit}:refs/heads/main`)
    assert.equal(pushed.code, 1, `${what}: ${pushed.text}`)
    assert.match(pushed.text, why, what)
  }
  assert.equal(await work.git('ls-remote', 'origin', 'main'), before)
})

test('only branches and tags can be pushed, and a branch is a commit', async () => {
  const notes = await work.try('push', 'origin', 'main:refs/notes/x')
  assert.match(notes.text, /remote: .*only branches and tags can be pushed/)
  const long = await work.try('push', 'origin', `main:refs/heads/${'x'.repeat(201)}`)
  assert.match(long.text, /at most 200 characters/)
  const tree = await work.try('push', 'origin', 'main^{tree}:refs/heads/tree')
  assert.notEqual(tree.code, 0)
  assert.doesNotMatch(await work.git('ls-remote', 'origin'), /notes|xxx|tree/)
})

test('a push that is killed half way leaves nothing, and its build goes on', async () => {
  const before = await work.git('ls-remote', 'origin', 'main')
  await work.commit({ ...SLOW, 'index.html': 'fifth' }, 'Slow')
  const pushing = spawn('git', ['push', '--force', 'origin', 'main'], {
    cwd: work.folder,
    env: { PATH: '/usr/bin:/bin' },
    detached: true,
  })
  let text = ''
  pushing.stderr.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  await until(() => text.includes('remote: Building for'), 'the build began')
  // With the processes that it has started.
  process.kill(-(pushing.pid as number), 'SIGKILL')
  await until(async () => (await readdir(join(service.dataDir, 'git'))).length === 0, 'the folders of git are removed')
  assert.equal(await work.git('ls-remote', 'origin', 'main'), before)
  await until(async () => (await page()) === 'fifth', 'the build went live')
})
