import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../test/support/folder.ts'
import { LIMITS, testSandbox } from '../../test/support/machine/engine.ts'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { createArchives, DEFAULT_ARCHIVE_LIMITS } from '../archives/index.ts'
import { openDiskBlobs } from '../storage/blobs/blobs-disk.ts'
import { createGit } from './git.ts'
import { createRepositories, RefMoved } from './records.ts'
import { createRemote } from './remote.ts'

const { signal } = new AbortController()

test('many packs become one with everything that refs lead to, unless something was pushed meanwhile', async (t) => {
  const top = await temporaryFolder(t)
  const { sql, clock, newId, accounts, apps } = await openCoreModules(t)
  const account = await accounts.create('ours')
  const at = { appId: (await apps.create(account.id, 'site', 'regions/UK')).id, accountId: account.id }
  const blobs = await openDiskBlobs(join(top, 'blobs'))
  const archives = createArchives({ blobs, limits: DEFAULT_ARCHIVE_LIMITS })
  const engine = await testSandbox()
  const folder = join(top, 'git')
  const git = createGit({ engine, limits: LIMITS, folder, canChooseUsers: process.getuid?.() === 0, archives })
  const repositories = createRepositories({ sql, clock, newId })
  const remote = createRemote({ git, repositories, blobs, folder, maxPackBytes: 1024 ** 2 })

  const source = join(top, 'source')
  await mkdir(source)
  const env = { PATH: '/usr/bin:/bin', GIT_CONFIG_NOSYSTEM: '1', HOME: top }
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@x']
  const run = async (...args: string[]) =>
    (await promisify(execFile)('git', [...who, ...args], { cwd: source, env })).stdout.trim()
  await run('init', '-q', '-b', 'main')
  let from: string | null = null
  for (const number of [1, 2, 3]) {
    await writeFile(join(source, 'file'), `${number}`)
    await run('add', '-A')
    await run('commit', '-q', '-m', `${number}`)
    await run('repack', '-d', '-q')
    const to = await run('rev-parse', 'HEAD')
    const known = new Set((await repositories.read(at.appId)).packs.map(({ name }) => name))
    const packs = join(source, '.git/objects/pack')
    const name =
      (await readdir(packs))
        .flatMap((file) => /^pack-(\w+)\.pack$/.exec(file)?.[1] ?? [])
        .find((one) => !known.has(one)) ?? ''
    const put = async (ending: string) =>
      blobs.put(
        (async function* () {
          yield await readFile(join(packs, `pack-${name}.${ending}`))
        })(),
      )
    const [pack, index] = [await put('pack'), await put('idx')]
    const added = { name, pack: pack.digest, index: index.digest, bytes: pack.bytes + index.bytes }
    const change = { name: 'refs/heads/main', from, to }
    await sql.transaction((tx) => repositories.move(tx, at, { changes: [change], pack: added, seen: [] }))
    from = to
  }

  const before = await repositories.read(at.appId)
  assert.equal(before.packs.length, 3)
  assert.equal(await remote.repack(at, signal), true)
  const after = await repositories.read(at.appId)
  assert.equal(after.packs.length, 1)
  assert.deepEqual(after.refs, before.refs)
  const { body } = await remote.serve({
    appId: at.appId,
    service: 'git-upload-pack',
    protocol: '',
    caller: 'x',
    signal,
  })
  assert.match((await body.toArray()).join(''), new RegExp(`${from} refs/heads/main`))

  const stale = { changes: [{ name: 'refs/heads/x', from: null, to: from }], seen: before.packs }
  await assert.rejects(
    sql.transaction((tx) => repositories.move(tx, at, stale)),
    RefMoved,
  )
  assert.deepEqual(await repositories.read(at.appId), after)
  assert.equal(await repositories.replacePacks(at, before, after.packs[0] as (typeof after.packs)[0]), false)
})
