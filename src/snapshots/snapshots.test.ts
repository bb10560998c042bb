import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import { LIMITS } from '../contract/index.ts'
import type { Digest } from '../storage/index.ts'
import { changesIn } from './diff/compare.ts'
import { runCompare } from './diff/run.ts'
import { openSealed, sealFolder } from './pack.ts'
import { createSnapshotRecords } from './records.ts'

const sealing = { key: randomBytes(32).toString('base64url'), place: 'environments/one' }
const MAX = 1024 ** 2

test('a sealed snapshot opens for its environment alone, and not when it was changed', async (t) => {
  const folder = await temporaryFolder(t)
  const [from, file] = [join(folder, 'from'), join(folder, 'sealed')]
  await mkdir(from)
  const bodies = randomBytes(200_000).toString('hex')
  await writeFile(join(from, 'index'), 'a line of the index\n')
  await writeFile(join(from, 'bodies'), bodies)
  const sealed = Buffer.concat(await Array.fromAsync(sealFolder(from, sealing, MAX)))
  assert.ok(!sealed.includes('index') && sealed.length < bodies.length)
  await writeFile(file, sealed)

  const open = async (name: string, given = sealing) => {
    await mkdir(join(folder, name))
    await openSealed(file, join(folder, name), given, MAX)
  }
  await open('whole')
  assert.equal(await readFile(join(folder, 'whole', 'index'), 'utf8'), 'a line of the index\n')
  assert.equal(await readFile(join(folder, 'whole', 'bodies'), 'utf8'), bodies)
  await assert.rejects(open('other place', { ...sealing, place: 'environments/two' }))
  await assert.rejects(open('other key', { ...sealing, key: randomBytes(32).toString('base64url') }))
  await writeFile(file, sealed.fill(0, sealed.length - 8))
  await assert.rejects(open('changed'))
  await writeFile(file, sealed.subarray(0, 100))
  await assert.rejects(open('cut off'))
})

test('a link in place of a file, or too many bytes, are not kept', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'index'), '')
  await symlink('/etc/passwd', join(folder, 'bodies'))
  await assert.rejects(Array.fromAsync(sealFolder(folder, sealing, MAX)))
  const other = await temporaryFolder(t)
  await writeFile(join(other, 'index'), '')
  await writeFile(join(other, 'bodies'), 'x'.repeat(20))
  await assert.rejects(Array.fromAsync(sealFolder(other, sealing, 10)), /too large/)
})

const CHANGES: [what: string, before: unknown, after: unknown, expected: unknown][] = [
  ['the same', { a: [1] }, { a: [1] }, []],
  ['a value', { a: { b: 1 } }, { a: { b: 2 } }, [{ path: 'a.b', before: '1', after: '2' }]],
  ['a new item at the top', [{ id: 1 }], [{ id: 2 }, { id: 1 }], [{ path: '[2]', after: '{"id":2}' }]],
  [
    'an item by the id of Contentful',
    { items: [{ sys: { id: 'x' }, fields: { title: 'a' } }] },
    { items: [{ sys: { id: 'x' }, fields: { title: 'b' } }] },
    [{ path: 'items[x].fields.title', before: 'a', after: 'b' }],
  ],
  ['an item without an id', [1, 2], [1], [{ path: '[1]', before: '2' }]],
  [
    'another order',
    [{ id: 1 }, { id: 2 }],
    [{ id: 2 }, { id: 1 }],
    [{ path: '(all of it)', before: 'order 1 2', after: 'order 2 1' }],
  ],
]

for (const [what, before, after, expected] of CHANGES) {
  test(`of JSON, ${what} is shown`, () => assert.deepEqual(changesIn(before, after).changes, expected))
}

test('differences are bounded in number, length and depth', () => {
  const many = (value: string) => Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, value]))
  const found = changesIn(many('a'.repeat(5000)), many('b'))
  assert.deepEqual([found.changes.length, found.more], [20, 80])
  assert.ok((found.changes[0]?.before?.length ?? 0) < 300)
  const deep = (end: number) => Array.from({ length: 500 }).reduce<unknown>((inner) => ({ inner }), end)
  assert.equal(changesIn(deep(1), deep(2)).changes.length, 1)
})

test('an environment keeps its newest snapshots and the last good one', async (t) => {
  const { sql, clock, environment: make, build } = await openModules(t)
  const records = createSnapshotRecords({ sql, clock })
  const environment = await make()
  const { id: environmentId, accountId } = environment
  const ids: string[] = []
  for (let count = 0; count < LIMITS.contentSnapshots + 3; count++) {
    const { id } = await build(environment)
    ids.push(id)
    const digest = `sha256:${String(count).padStart(64, '0')}` as Digest
    await records.insert({ buildId: id, environmentId, accountId, digest, answers: 1, bytes: 10 })
    if (count === 0) await sql.transaction((tx) => records.approve(tx, id))
  }
  assert.equal((await records.digests()).length, LIMITS.contentSnapshots + 1)
  assert.equal((await records.lastGood(environmentId))?.buildId, ids[0])
  assert.equal(await records.find('another account', environmentId, ids[0] ?? ''), undefined)
  assert.equal((await records.sizes(accountId)).length, LIMITS.contentSnapshots + 1)
})

test('a comparison leaves nothing in clear, whether it succeeds or fails', async (t) => {
  const folder = await temporaryFolder(t)
  const scratch = join(folder, 'scratch')
  await mkdir(scratch)
  const before = process.env.TMPDIR
  process.env.TMPDIR = scratch
  t.after(() => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  })
  const sealed = async (name: string, body: string) => {
    await mkdir(join(folder, name))
    const asked = { method: 'GET', url: 'https://cms.example.com/', status: 200, headers: [] }
    const line = { ...asked, key: 'k', loose: 'l', at: 0, length: body.length, digest: name }
    await writeFile(join(folder, name, 'index'), `${JSON.stringify(line)}\n`)
    await writeFile(join(folder, name, 'bodies'), body)
    await writeFile(join(folder, `${name}.sealed`), sealFolder(join(folder, name), sealing, MAX))
    return join(folder, `${name}.sealed`)
  }
  const first = await sealed('first', '{"title":"a"}')
  const { changed } = await runCompare({ files: [first, await sealed('second', '{"title":"b"}')], sealing })
  assert.deepEqual(changed[0]?.changes, [{ path: 'title', before: 'a', after: 'b' }])
  const deep = await sealed('deep', `${'['.repeat(200_000)}${']'.repeat(200_000)}`)
  assert.equal((await runCompare({ files: [first, deep], sealing })).counts.changed, 1)
  await assert.rejects(runCompare({ files: [first, join(folder, 'none')], sealing }))
  assert.deepEqual(await readdir(scratch), [])
})
