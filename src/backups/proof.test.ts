/** Proof of origin: without the master key, no backup can be made or altered that is restored without --trust. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import {
  assertRefused,
  attempt,
  type Backup,
  joined,
  makeBackup,
  nothing,
  packed,
  pieces,
  plain,
  replaced,
  type Whole,
  withRows,
} from '../../test/support/modules/backup.ts'
import { statement } from '../storage/index.ts'
import { openSqliteApart } from '../storage/sql/sqlite.ts'
import { HEAD, LIST, TAG } from './entry.ts'
import { checkBackup } from './restore/restore.ts'

let made: Backup
let withKey: Backup
const ends: (() => unknown)[] = []
after(() => Promise.all(ends.map((end) => end())))
before(async () => {
  const scope = { after: (end: () => unknown) => ends.push(end) }
  made = await makeBackup(scope)
  withKey = await makeBackup(scope, { isKeyInside: true })
})

const anotherKey = randomBytes(32).toString('base64')
const UNPROVEN = /Nothing proves that this backup is yours: .*--key-file FILE.*--trust/

const headWith = ({ entries }: Backup, change: object): Whole[] => {
  const head = JSON.parse(String(entries[0]?.body))
  return replaced(entries, HEAD, Buffer.from(JSON.stringify({ ...head, ...change })))
}

test('a backup with altered rows is refused, though its list is right', async (t) => {
  const altered = await withRows(t, made, (sql) =>
    sql.transaction((tx) => tx.query(statement`UPDATE environments SET uid = 200001, display_name = 'altered'`)),
  )
  await assertRefused(t, packed(altered, anotherKey), UNPROVEN, { key: made.key })
  // The same with the right key is a backup.
  const { done } = await attempt(t, packed(altered, made.key), { key: made.key })
  assert.equal((await done).unproven, undefined)
})

test('a backup that claims another key, none or the first format is refused without --trust, and reported with it', async (t) => {
  for (const [entries, given] of [
    [headWith(made, { format: 1 }).filter(({ entry }) => entry.path !== TAG), { key: made.key }],
    [made.entries, { key: undefined }],
    [withKey.entries, { key: undefined }],
  ] as const) {
    const tar = entries === made.entries ? made.tar : packed(entries, anotherKey)
    const checking = checkBackup({ keys: { file: '', given: given.key }, openForeignSql: openSqliteApart }, pieces(tar))
    await assert.rejects(checking, UNPROVEN)
  }
  await assertRefused(t, withKey.tar, /the only master key at hand is the one inside/, {})
  const trusted = await attempt(t, withKey.tar, { isTrusted: true })
  assert.match((await trusted.done).unproven ?? '', /the one inside, which its author may have put there/)
  const proven = await attempt(t, withKey.tar, { key: withKey.key })
  assert.equal((await proven.done).unproven, undefined)
})

test('a backup in the first format is restored with --trust', async (t) => {
  const entries = headWith(made, { format: 1 })
  const tagged = packed(entries, made.key)
  const list = packed(entries, made.key).lastIndexOf(TAG)
  const tar = Buffer.concat([tagged.subarray(0, list), Buffer.alloc(1024)])
  await assertRefused(t, tar, /it is in the first format/, { key: made.key })
  const { done } = await attempt(t, tar, { key: made.key, isTrusted: true })
  assert.match((await done).unproven ?? '', /first format/)
})

test('a key inside that is not the one that the backup names is refused, and none takes the place of your own', async (t) => {
  const foreign = packed(replaced(withKey.entries, 'master.key', Buffer.from(`${anotherKey}\n`)), anotherKey)
  await assertNotRestored(t, foreign, /its key is not the one that it names/)
  const { done, dataDir } = await attempt(t, foreign, { key: withKey.key, isTrusted: true })
  await done
  assert.ok(!(await readdir(dataDir)).includes('master.key'))
})

async function assertNotRestored(t: TestContext, tar: Buffer, why: RegExp) {
  const { top, done } = await attempt(t, tar, { isTrusted: true })
  await assert.rejects(done, why)
  assert.deepEqual(await readdir(top), [])
}

test('--trust takes an altered backup and says why nothing proves it', async (t) => {
  const { done, dataDir } = await attempt(t, packed(made.entries, anotherKey), { key: made.key, isTrusted: true })
  assert.match((await done).unproven ?? '', /altered, or made without the master key/)
  assert.ok((await lstat(join(dataDir, 'headland.db'))).isFile())
})

const checkIt = (tar: Buffer) =>
  checkBackup({ keys: { file: '', given: made.key }, openForeignSql: openSqliteApart }, pieces(tar))

test('any altered byte is refused', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 255 }), async (place, difference) => {
      const altered = Buffer.from(made.tar)
      const at = place % altered.byteLength
      altered[at] = (altered[at] as number) ^ difference
      await assert.rejects(checkIt(altered), { name: 'BackupRefused' })
    }),
    { numRuns: 150 },
  )
})

test('an altered byte of a compressed backup is refused, or makes no difference to what is inside', async () => {
  const zipped = zstdCompressSync(made.tar)
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 255 }), async (place, difference) => {
      const altered = Buffer.from(zipped)
      const at = place % altered.byteLength
      altered[at] = (altered[at] as number) ^ difference
      const checked = await checkIt(altered).catch((error: Error) => error)
      if (checked instanceof Error) assert.equal(checked.name, 'BackupRefused', checked.stack)
      else assert.equal(checked.unproven, undefined)
    }),
    { numRuns: 60 },
  )
})

type Change = (entries: Whole[], from: number, to: number) => Whole[]

/** Changes to entries that leave the list as it was. */
const CHANGES: Record<string, Change> = {
  removed: (entries, from) => entries.toSpliced(from, 1),
  doubled: (entries, from, to) => entries.toSpliced(to, 0, entries[from] as Whole),
  moved: (entries, from, to) => entries.toSpliced(from, 1).toSpliced(to, 0, entries[from] as Whole),
  added: (entries, _, to) =>
    entries.toSpliced(to, 0, { entry: { ...plain('logs/builds/x.log'), size: 1 }, body: Buffer.from('x') }),
  longer: (entries, from) =>
    entries.with(from, {
      entry: { ...(entries[from] as Whole).entry, size: (entries[from] as Whole).body.byteLength + 1 },
      body: Buffer.concat([(entries[from] as Whole).body, Buffer.from(' ')]),
    }),
  owned: (entries, from) =>
    entries.with(from, { ...(entries[from] as Whole), entry: { ...(entries[from] as Whole).entry, uid: 31_337 } }),
  opened: (entries, from) =>
    entries.with(from, {
      ...(entries[from] as Whole),
      entry: { ...(entries[from] as Whole).entry, mode: (entries[from] as Whole).entry.mode ^ 0o077 },
    }),
}

const isSame = (one: readonly Whole[], other: readonly Whole[]): boolean => joined(one).equals(joined(other))

test('an entry that is removed, doubled, moved, added, longer or given away is refused, and nothing is half restored', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(CHANGES)),
      fc.nat(),
      fc.nat(),
      fc.constantFrom('as it was', 'made anew with another key'),
      async (what, from, to, list) => {
        const count = made.entries.length
        const changed = (CHANGES[what] as Change)(made.entries, from % count, to % count)
        if (isSame(changed, made.entries)) return
        const body = changed.filter(({ entry }) => ![LIST, TAG].includes(entry.path))
        if (list !== 'as it was' && (isSame(body, made.entries.slice(0, -2)) || body[0]?.entry.path !== HEAD)) return
        const tar = list === 'as it was' ? joined(changed) : packed(body, anotherKey)
        const { top, done } = await attempt(t, tar, { key: made.key })
        await assert.rejects(done, { name: 'BackupRefused' })
        assert.deepEqual(await readdir(top), [])
      },
    ),
    { numRuns: 120 },
  )
})

test('a tag that is empty, of something else or too long is refused', async (t) => {
  const tag = made.entries.at(-1) as Whole
  for (const body of [nothing, Buffer.alloc(65, '0'), Buffer.concat([tag.body, Buffer.from('0')])]) {
    const tar = joined(replaced(made.entries, TAG, body))
    await assertRefused(t, tar, /its list has no tag|altered, or made without/, { key: made.key })
  }
})
