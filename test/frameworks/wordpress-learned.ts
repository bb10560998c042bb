/**
 * Learned caching with a real WordPress and its plugin: one post is edited, and exactly the pages that show it are fetched again.
 * Takes a minute: `npm run test:frameworks`.
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startLearnedSite } from '../support/learned-site.ts'

const POSTS = 40
const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const isRoot = process.getuid?.() === 0
const skip = isRoot ? false : 'only root can give this machine an address that apps reach'

describe('pages of a real WordPress that are kept', { skip }, async () => {
  if (!isRoot) return
  const site = await startLearnedSite(file, { posts: POSTS })

  test('an edited post is fetched again by the pages that show it, and the others stay', async () => {
    await site.fill()
    const id = site.ids[POSTS - 2] as number
    await site.edit(id, 'Edited')
    const asked = await site.visitAll()
    assert.deepEqual(asked, ['/', '/list/post', `/post/${id}`])
    for (const path of asked) assert.match(await site.get(path), /Edited/)
    const [trigger] = await site.triggers()
    assert.deepEqual(trigger.purged.content, [`WordPress post ${id}`])
  })

  test('a purge of everything fetches all of them', async () => {
    await site.fill()
    await site.purgeEverything()
    assert.deepEqual(await site.visitAll(), site.paths)
  })
})
