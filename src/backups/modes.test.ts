/**
 * Owners and modes in a backup apply to the files of apps at most: those of the service are as the service makes them.
 */
import assert from 'node:assert/strict'
import { chown, lstat, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { attempt, type Backup, makeBackup, packed, pieces, type Whole } from '../../test/support/modules/backup.ts'
import { openSqliteApart } from '../storage/sql/sqlite.ts'
import { restore } from './restore/restore.ts'

const isRoot = process.getuid?.() === 0
const [UID, FOREIGN] = [200_001, 31_337]

let made: Backup
const ends: (() => unknown)[] = []
after(() => Promise.all(ends.map((end) => end())))
before(async () => {
  made = await makeBackup({ after: (end) => ends.push(end) }, { isKeyInside: true })
})

/** Everything has mode 0777 and one owner. */
const opened = (uid: number): Whole[] =>
  made.entries.map(({ entry, body }) => ({ entry: { ...entry, mode: 0o777, uid, gid: uid }, body }))

async function foundIn(folder: string) {
  const names = await readdir(folder, { recursive: true })
  return Promise.all(names.map(async (path) => ({ path, ...pick(await lstat(join(folder, path))) })))
}
const pick = ({ mode, uid, gid }: { mode: number; uid: number; gid: number }) => ({ mode: mode & 0o7777, uid, gid })

const OF_APPS = /^(outputs\/\w+\/(files|source)|packages\/[\w-]+)(\/|$)/
const PASSAGES = /^(outputs|packages|environments|outputs\/\w+|environments\/[\w-]+)$/

for (const uid of [0, 1000, UID, FOREIGN]) {
  test(`modes and owners of a backup are not taken over, be the owner ${uid}`, async (t) => {
    const { done, dataDir } = await attempt(t, packed(opened(uid), made.key), { isTrusted: true })
    await done
    assert.ok(await lstat(join(dataDir, 'master.key')))
    const folder = pick(await lstat(dataDir))
    assert.equal(folder.mode, 0o700)
    for (const { path, mode, uid: owner, gid } of await foundIn(dataDir)) {
      const isOfApp = OF_APPS.test(path)
      const isFolder = (await lstat(join(dataDir, path))).isDirectory()
      const expected = isFolder ? (PASSAGES.test(path) ? 0o711 : 0o700) : 0o600
      assert.equal(mode, isOfApp ? 0o777 : expected, path)
      if (!isRoot) continue
      assert.deepEqual([owner, gid], isOfApp && path.startsWith('outputs') ? [UID, UID] : [0, 0], path)
    }
    assert.equal(folder.uid, process.getuid?.())
  })
}

test('a folder that belongs to the user of a service gets files of that user', { skip: !isRoot }, async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data')
  await mkdir(dataDir, { mode: 0o700 })
  await chown(dataDir, 4321, 4322)
  const keys = { file: join(dataDir, 'master.key'), given: made.key }
  await restore({ dataDir, keys, openForeignSql: openSqliteApart }, pieces(made.tar))
  for (const { path, uid, gid } of await foundIn(dataDir)) assert.deepEqual([uid, gid], [4321, 4322], path)
})
