/**
 * Next.js apps behind the real edge: pages that they revalidate, by any means, are purged from the edge's cache at
 * once, without changes to the apps.
 */
import assert from 'node:assert/strict'
import { type IncomingHttpHeaders, request } from 'node:http'
import { before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { untilDone } from '../support/service/deploy.ts'
import { type Deployed, deployExample, type Place } from '../support/service/examples.ts'
import { until } from '../support/until.ts'

/** The examples that it deploys, in the same way as all others. */
export const COHERENCE_EXAMPLES = ['next-isr', 'next-wpengine']

type SiteResponse = { status: number; text: string; headers: IncomingHttpHeaders }
type Asked = { method?: string; headers?: Record<string, string>; body?: string }

/** One example, requested through the edge. */
function siteOf({ service, as }: Place, { environment, url }: Deployed) {
  const { host } = new URL(url)
  const { hostname, port } = new URL(service.edge)

  function ask(path: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<SiteResponse> {
    return new Promise((resolve, reject) => {
      const options = { host: hostname, port, path, method, headers: { ...headers, host }, agent: false }
      const call = request(options, async (response) => {
        let text = ''
        for await (const chunk of response.setEncoding('utf8')) text += chunk
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers })
      })
      call.on('error', reject).end(body)
    })
  }

  /** Reads until the edge has stored it, which is the second time unless a revalidation was in progress. */
  async function cached(path: string, headers?: Record<string, string>): Promise<SiteResponse> {
    for (let tries = 0; tries < 10; tries++) {
      const answer = await ask(path, headers ? { headers } : {})
      assert.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 200)}`)
      if (isHit(answer)) return answer
    }
    throw new Error(`the edge does not keep ${path}`)
  }

  async function post(path: string) {
    const { status, text } = await ask(path, { method: 'POST' })
    assert.equal(status, 200, text)
  }

  return {
    ask,
    cached,
    post,

    /**
     * The page is stored in the edge; its content changes; readers still get the old page; after the action the next
     * reader gets the new one.
     */
    async goesWith(paths: readonly string[], write: (text: string) => Promise<unknown>, done: () => Promise<unknown>) {
      const text = nextText()
      for (const path of paths) await cached(path)
      await write(text)
      for (const path of paths)
        assert.doesNotMatch((await cached(path)).text, new RegExp(text), `${path} is not cached`)
      await done()
      for (const path of paths) {
        const answer = await ask(path)
        assert.match(answer.text, new RegExp(text), `${path}: ${answer.headers['cache-status']}`)
      }
    },

    async setVariables(variables: Record<string, string>) {
      const shellVariables = Object.entries(variables).map(([key, value]) => ({ key, value }))
      const asked = await service.call(`/v1/${environment}?updateMask=shellVariables`, {
        method: 'PATCH',
        as,
        body: { shellVariables },
      })
      assert.equal(asked.status, 200, asked.text)
      assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
    },
  }
}

const isHit = ({ headers }: SiteResponse): boolean => /;\s*hit\b/.test(String(headers['cache-status']))

let texts = 0
const nextText = (): string => `text-${++texts}-end`

export function nextCoherenceSuite(place: Place) {
  describe('an app with the App Router and the Pages Router', () => {
    let site: ReturnType<typeof siteOf>
    before(async () => {
      site = siteOf(place, await deployExample(place.service, place.as, 'next-isr'))
    })
    const write = (text: string) => site.ask('/api/content', { method: 'PUT', body: text })

    test('revalidateTag: the very next reader of every page with the tag gets the new one', async () => {
      await site.goesWith(['/posts/one', '/posts/two'], write, () => site.post('/api/revalidate?tag=posts'))
    })

    test('revalidatePath of one page', async () => {
      await site.goesWith(['/posts/one'], write, () => site.post('/api/revalidate?path=/posts/one'))
    })

    test('revalidatePath of a route with parameters, and of everything below a layout', async () => {
      const pages = ['/posts/one', '/posts/two']
      await site.goesWith(pages, write, () => site.post('/api/revalidate?path=/posts/[slug]&type=page'))
      await site.goesWith(pages, write, () => site.post('/api/revalidate?path=/&type=layout'))
    })

    test("data that the browser's router fetches is purged with the page", async () => {
      const headers = { rsc: '1' }
      const { headers: asked } = await site.ask('/posts/one?_rsc=x', { headers })
      const path = String(asked.location ?? '/posts/one?_rsc=x')
      await site.cached(path, headers)
      const text = nextText()
      await write(text)
      await site.post('/api/revalidate?tag=posts')
      assert.match((await site.ask(path, { headers })).text, new RegExp(text))
    })

    test('res.revalidate of the Pages Router, with the data of the page', async () => {
      const { text: html } = await site.ask('/legacy')
      const buildId = /"buildId":"([^"]+)"/.exec(html)?.[1]
      const pages = ['/legacy', `/_next/data/${buildId}/legacy.json`]
      await site.goesWith(pages, write, () => site.post('/api/revalidate-page?path=/legacy'))
    })

    test('a page that has expired is rendered again for one reader, and the next one gets it', async () => {
      await site.ask('/clock')
      const text = nextText()
      await write(text)
      // Longer than the lifetime of the page, so that this reader triggers the rendering.
      await wait(3000)
      await until(async () => (await site.ask('/clock')).text.includes(text))
    })

    test('a page has its age, so that it is not stored twice as long in the edge', async () => {
      await site.ask('/posts/aged')
      await wait(2000)
      // Under this URL the edge does not have it, but Next.js does.
      const { headers } = await site.ask('/posts/aged?again')
      assert.ok(Number(headers.age) >= 2, `age: ${headers.age}, ${headers['cache-status']}`)
    })

    test('only the edge sees tags', async () => {
      const { headers } = await site.ask('/posts/one')
      assert.equal(headers['x-next-cache-tags'], undefined)
    })

    test('switched off by a variable of the app, the edge keeps the old page', async () => {
      await site.setVariables({ HEADLAND_NEXT_COHERENCE: 'off' })
      await site.cached('/posts/one')
      const text = nextText()
      await write(text)
      await site.post('/api/revalidate?tag=posts')
      assert.doesNotMatch((await site.cached('/posts/one')).text, new RegExp(text))
    })
  })

  describe('an app with @wpengine/edge-cache and @wpengine/atlas-next', () => {
    let site: ReturnType<typeof siteOf>
    before(async () => {
      site = siteOf(place, await deployExample(place.service, place.as, 'next-wpengine'))
    })
    const write = (text: string) => site.ask(`/api/content?text=${text}`, { method: 'PUT' })

    test('purgePaths and purgeTags', async () => {
      await site.goesWith(['/latest'], write, () => site.post('/api/purge?path=/latest/'))
      await site.goesWith(['/latest'], write, () => site.post('/api/purge?tag=latest'))
    })

    test('res.revalidate with its cache handler', async () => {
      await site.goesWith(['/posts/one'], write, () => site.post('/api/revalidate?path=/posts/one'))
    })

    test('revalidateTag, with entries that its cache handler stored as JSON', async () => {
      const pages = ['/tagged/one', '/feed']
      await site.goesWith(pages, write, () => site.post('/revalidate-tag?tag=posts'))
      const headers = { rsc: '1' }
      const { headers: asked } = await site.ask('/tagged/one?_rsc=x', { headers })
      const answer = await site.ask(String(asked.location ?? '/tagged/one?_rsc=x'), { headers })
      assert.equal(answer.status, 200, answer.text.slice(0, 200))
      assert.match(answer.text, /Tagged one says/)
    })

    test('pages that were rendered at run time are in the key-value store, for the next process', async () => {
      const text = nextText()
      await write(text)
      await site.post('/api/revalidate?path=/posts/kept')
      await site.setVariables({ ANYTHING: 'else' })
      // The content in its memory is the initial one again.
      assert.match((await site.ask('/api/content')).text, /first/)
      assert.match((await site.ask('/posts/kept')).text, new RegExp(text))
    })
  })
}
