/** Pages of real frameworks tell what they are made of, streamed or not. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildApp, FRAMEWORK_APPS, startBuilt, startWordpressLike } from '../support/content/framework-apps.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'

async function read(url: string) {
  const [answer] = (await once(http.get(url, { agent: false }), 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer) text += chunk
  const head = String(answer.headers['x-headland-content'])
  return { text, head, words: answer.trailers['x-headland-content'] ?? head }
}

type Parts = {
  /** A folder with the installed packages of an example, if there is one. */
  packagesOf(example: string): Promise<string | undefined>
  isChosen(example: string): boolean
}

export function contentHookSuite({ packagesOf, isChosen }: Parts) {
  for (const [name, app] of Object.entries(FRAMEWORK_APPS).filter(([, { example }]) => isChosen(example)))
    test(`${name}: a page names the post that it shows, and the lists; none is kept once a cache of the app is used`, async (t) => {
      const folder = join(await temporaryFolder(t), 'app')
      await buildApp(app, folder, await packagesOf(app.example))
      await using cms = await startWordpressLike()
      await using running = await startBuilt(app, folder, cms.url, true)
      await until(async () => !(await read(`${running.url}/p/post-1`)).words.endsWith('checking'))
      for (const id of [11, 12]) {
        const { text, head, words } = await read(`${running.url}/p/post-${id}`)
        assert.match(text, new RegExp(`Post ${id}`))
        assert.ok(words === head || head === '1;pending')
        const tags = words.replace(/^1;/, '').split(' ')
        const posts = [...Array.from({ length: 10 }, (_, at) => at + 1), id].map((one) => `i:wp:post:${one}`)
        const pages = Array.from({ length: 10 }, (_, at) => `i:wp:post:${101 + at}`)
        const expected = [...posts, ...pages, 'i:wp:user:1', 'i:wp:term:3', 'c:wp:post', 'c:wp:page']
        assert.deepEqual(tags.toSorted(), expected.toSorted(), words)
      }
      assert.doesNotMatch(running.output(), /headland:/)
      if (!Object.keys(app.files).some((path) => path.includes('kept/'))) return
      await until(async () => {
        const { words } = await read(`${running.url}/kept/post-1`)
        assert.match(words, /^1;unsure /)
        return words.endsWith('app-keeps')
      })
      // Other pages may show what is kept.
      await until(async () => (await read(`${running.url}/p/post-1`)).words === '1;unsure app-keeps')
    })
}
