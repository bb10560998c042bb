/**
 * A Next.js server that reads a real WordPress, as the guides describe it: published posts, previews of drafts, and
 * images, with WordPress on a network that visitors do not reach.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type OutgoingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { resources } from '../../src/contract/index.ts'
import { deploy, filesIn } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { answersAsExpected, EXAMPLES, expectedOf } from '../support/service/examples.ts'
import type { Login, TestService } from '../support/service/service.ts'
import type { WordPress } from '../support/service/wordpress.ts'
import { until } from '../support/until.ts'

const EXAMPLE = 'next-wordpress'
const [REVALIDATE_SECRET, PREVIEW_SECRET] = ['revalidate-secret', 'preview-secret']

type Parts = { service: TestService; as: Login; wordpress: WordPress }

export function nextWordpressSuite({ service, as, wordpress }: Parts) {
  describe('a Next.js server that reads WordPress', () => {
    let site: { name: string; url: string; build: resources.Build }

    before(async () => {
      const shellVariables = Object.entries({
        WORDPRESS_URL: wordpress.url,
        WORDPRESS_USER: 'admin',
        WORDPRESS_APPLICATION_PASSWORD: wordpress.applicationPassword,
        REVALIDATE_SECRET,
        PREVIEW_SECRET,
      }).map(([key, value]) => ({ key, value }))
      const body = { displayName: EXAMPLE, branch: 'uploadable', cmsEnvironment: 'cms', shellVariables }
      const { name, url } = await createEnvironment(service, as, { body })
      const done = await deploy(service, as, name, await filesIn(join(EXAMPLES, EXAMPLE)))
      const log = await service.call(`/v1/${done.metadata.build}/log`, { as })
      assert.equal(done.error, undefined, `${JSON.stringify(done.error)}\n${log.text}`)
      site = { name, url, build: (await service.call(`/v1/${done.metadata.build}`, { as })).json }
    })

    const get = (path: string, headers: OutgoingHttpHeaders = {}) => siteAnswer(service, site.url, path, headers)

    async function post(path: string): Promise<number | undefined> {
      const { hostname, port } = new URL(service.edge)
      const { host } = new URL(site.url)
      const asked = request({ method: 'POST', host: hostname, port, path, headers: { host }, agent: false }).end()
      const [answer] = await once(asked, 'response')
      answer.resume()
      await once(answer, 'end')
      return answer.statusCode
    }

    /** Resolves when the plugin has called, and Headland or the app has accepted the call. */
    const called = () =>
      until(async () => {
        const { counts, worker } = await wordpress.state()
        const last = await wordpress.lastCall()
        return worker === '' && Object.keys(counts).length === 0 && last !== false && last.ok
      }, 'the plugin has called')

    test('the example is planned and answers as expected', async () => {
      const expected = await expectedOf(EXAMPLE)
      assert.deepEqual(site.build.plan, expected.plan)
      await answersAsExpected(service, site.url, expected)
    })

    test('with the purgeCache URL in the plugin, a published post is on the page for the next visitor', async () => {
      await get('/')
      const { json } = await service.call(`/v1/${site.name}/webhooks`, { method: 'POST', as })
      const { url } = json.webhooks.find(({ action }: { action: string }) => action === 'purgeCache')
      await wordpress.setOptions({ url })
      await wordpress.publish('Fresh by a purge')
      await called()
      assert.match((await get('/')).text, /Fresh by a purge/)
      assert.equal((await get('/posts/fresh-by-a-purge')).status, 200)
    })

    test('the app’s own route makes the next visitor’s page fresh', async () => {
      await wordpress.setOptions({ url: '' })
      await wordpress.publish('Fresh by a revalidation')
      assert.doesNotMatch((await get('/')).text, /Fresh by a revalidation/)
      assert.equal(await post('/api/revalidate?secret=wrong'), 401)
      assert.equal(await post(`/api/revalidate?secret=${REVALIDATE_SECRET}`), 200)
      assert.match((await get('/')).text, /Fresh by a revalidation/)
    })

    test('the preview of a draft shows it to the editor, and to no other visitor', async () => {
      const id = await wordpress.draft('Not published yet')
      const { status, headers } = await get(`/api/preview?secret=${PREVIEW_SECRET}&id=${id}`)
      assert.equal(status, 307)
      const cookie = [headers['set-cookie'] ?? []]
        .flat()
        .map((each) => each.split(';')[0])
        .join('; ')
      const path = String(headers.location)
      assert.match((await get(path, { cookie })).text, /Not published yet/)
      assert.equal((await get(path)).status, 404)
      assert.equal((await get(`/api/preview?secret=wrong&id=${id}`)).status, 401)
    })

    test('an image of WordPress comes from the site, in the size that the page shows', async () => {
      const slug = await wordpress.inWordPress(WITH_COVER)
      await service.call(`/v1/${site.name}:clearCache`, { method: 'POST', as, body: {} })
      const page = (await get(`/posts/${slug}`)).text
      const [, src = assert.fail(page)] = /<img[^>]* src="(\/_next\/image[^"]+)"/.exec(page) ?? []
      const { status, headers } = await get(src.replaceAll('&amp;', '&'))
      assert.equal(status, 200)
      assert.match(String(headers['content-type']), /^image\//)
    })
  })
}

const RED_SQUARE =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAACXBIWXMAAA7EAAAOxAGVKw4bAAAATUlEQVRo3u3PQQ0AAAgEoNP+wYxlBN9u0ICa/NYREBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEDgs9FcBSEY9NRgAAAAASUVORK5CYII='

/** A post with a red square as its featured image. Prints its slug. */
const WITH_COVER = `
require 'wp-load.php';
require_once ABSPATH . 'wp-admin/includes/image.php';
$file = wp_upload_bits('cover.png', null, base64_decode('${RED_SQUARE}'));
$media = wp_insert_attachment(['post_mime_type' => 'image/png', 'post_title' => 'cover', 'post_status' => 'inherit'], $file['file']);
wp_update_attachment_metadata($media, wp_generate_attachment_metadata($media, $file['file']));
$post = wp_insert_post(['post_title' => 'With a cover', 'post_content' => 'x', 'post_status' => 'publish']);
set_post_thumbnail($post, $media);
echo get_post($post)->post_name;`
