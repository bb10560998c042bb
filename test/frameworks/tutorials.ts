/** The tutorial about moving from Vercel, followed with a real Next.js. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { filesIn } from '../support/service/deploy.ts'
import { siteAnswer } from '../support/service/environment.ts'
import { EXAMPLES } from '../support/service/examples.ts'
import { startService, type TestService } from '../support/service/service.ts'
import { type Followed, followTutorial } from '../support/tutorials.ts'

describe('docs/tutorials/migrate-vercel.md, with Next.js', () => {
  const ends: (() => unknown)[] = []
  const file = { after: (end: () => unknown) => void ends.unshift(end) }
  let service: TestService
  let followed: Followed
  before(async () => {
    service = await startService(file)
    followed = await followTutorial(file, service, 'docs/tutorials/migrate-vercel.md', async (page) => ({
      ...(await filesIn(join(EXAMPLES, 'next-isr'))),
      'vercel.json': page.block('json'),
      'next.config.mjs': page.block('js'),
      '.env.production.local': page.block('ini'),
    }))
  })
  after(async () => {
    for (const end of ends) await end()
  })
  const ask = (path: string) => siteAnswer(service, followed.url, path)

  test('Next.js applies the rules of vercel.json: the status, the destination, the header', async () => {
    const moved = await ask('/old-shop/lamp')
    assert.deepEqual([moved.status, moved.headers.location], [308, '/posts/lamp'])
    const sale = await ask('/sale')
    assert.deepEqual([sale.status, sale.headers.location], [302, '/posts/sale'])
    const start = await ask('/start')
    assert.deepEqual([start.status, start.headers['x-frame-options']], [200, 'DENY'])
    assert.match(start.text, /Posts/)
  })

  test('what the page shows for the redirect and the rewrite is what the commands print', () => {
    assert.match(
      followed.printed('headland curl'),
      /308[\s\S]*location: \/posts\/lamp\s[\s\S]* 200[\s\S]*x-frame-options: DENY/i,
    )
  })

  test('revalidation on demand reaches the cache of the edge, without a change of the app', async () => {
    const stored = async () => {
      for (let tries = 0; tries < 10; tries++) {
        const answer = await ask('/posts/lamp')
        if (/;\s*hit\b/.test(String(answer.headers['cache-status']))) return answer.text
      }
      return assert.fail('the edge does not keep the page')
    }
    assert.match(await stored(), /Post lamp says first/)
    await followed.run(
      "headland curl --fail -X PUT -d second /api/content && headland curl --fail -X POST '/api/revalidate?tag=posts'",
    )
    assert.match((await ask('/posts/lamp')).text, /Post lamp says second/)
  })
})
