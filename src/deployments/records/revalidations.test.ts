import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../../test/support/folder.ts'
import { openModules } from '../../../test/support/modules/deployments.ts'
import { createRevalidations, REVALIDATION_LIMITS, tagsOfPurge } from './revalidations.ts'

async function open(t: Scope) {
  const modules = await openModules(t)
  const revalidations = createRevalidations(modules)
  const { id } = await modules.environment()
  const note = (tags: Record<string, number>) => modules.sql.transaction((tx) => revalidations.note(tx, id, tags))
  const noteEverything = (time: number) => modules.sql.transaction((tx) => revalidations.noteEverything(tx, id, time))
  const many = (count: number, time: (index: number) => number, name = 'tag') =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}-${index}`, time(index)]))
  return { ...modules, revalidations, id, note, noteEverything, many, read: () => revalidations.read(id) }
}

test('a tag has the newest of its times, and none in the future', async (t) => {
  const { note, read, clock } = await open(t)
  const now = clock.now()
  await note({ a: now - 10, b: now - 10 })
  await note({ a: now - 20, b: now - 5, c: now + 1000 })
  assert.deepEqual(await read(), { everything: 0, tags: { a: now - 10, b: now - 5, c: now } })
})

test('when everything has expired, older tags add nothing to it', async (t) => {
  const { note, noteEverything, read, clock } = await open(t)
  const now = clock.now()
  await note({ old: now - 20, new: now - 5 })
  await noteEverything(now - 10)
  await noteEverything(now - 15)
  assert.deepEqual(await read(), { everything: now - 10, tags: { new: now - 5 } })
})

test('a record is bounded: the oldest tags are merged into one entry for everything of that age', async (t) => {
  const { note, many, read, clock } = await open(t)
  const { tags, tagsAtOnce } = REVALIDATION_LIMITS
  const first = clock.now() - 1_000_000
  for (let from = 0; from <= tags; from += tagsAtOnce) {
    await note(many(tagsAtOnce, (index) => first + from + index, `at-${from}`))
  }
  const record = await read()
  assert.ok(Object.keys(record.tags).length <= tags)
  assert.ok(record.everything >= first)
  for (const time of Object.values(record.tags)) assert.ok(time > record.everything)
  assert.ok(Object.values(record.tags).includes(first + tags + tagsAtOnce - 1), 'the newest is a tag still')
})

test('more tags at once than a record takes, or one that is too long, expire everything as of then', async (t) => {
  const { note, many, read, clock } = await open(t)
  const now = clock.now()
  await note(many(REVALIDATION_LIMITS.tagsAtOnce + 1, (index) => now - 1000 + index))
  assert.deepEqual(await read(), { everything: now - 1000 + REVALIDATION_LIMITS.tagsAtOnce, tags: {} })
  await note({ ['x'.repeat(REVALIDATION_LIMITS.tagLength + 1)]: now - 1 })
  assert.deepEqual(await read(), { everything: now - 1, tags: {} })
})

test('names that mean something to JavaScript or to the record are tags like others', async (t) => {
  const { note, read, clock } = await open(t)
  const time = clock.now() - 1
  await note(JSON.parse(`{ "__proto__": ${time}, "constructor": ${time}, "": ${time} }`))
  const { everything, tags } = await read()
  assert.deepEqual(
    [everything, Object.entries(tags).toSorted()],
    [
      0,
      [
        ['__proto__', time],
        ['constructor', time],
      ],
    ],
  )
})

test('a path means its page and everything that is requested by it', () => {
  assert.deepEqual(tagsOfPurge({ paths: ['/blog/one/'], tags: ['posts', 'posts'] }), [
    '/blog/one',
    '_N_T_/blog/one',
    'posts',
  ])
  assert.deepEqual(tagsOfPurge({ paths: ['/%'] }), ['/%', '_N_T_/%'])
})

test('the record is deleted with its environment, and a later purge leaves none', async (t) => {
  const { note, read, clock, sql, environments, id } = await open(t)
  await note({ a: clock.now() })
  await sql.transaction((tx) => environments.remove(tx, id))
  await note({ b: clock.now() })
  assert.deepEqual(await read(), { everything: 0, tags: {} })
})
