/** A site that renders posts of a real WordPress on request, on the real service with learned caching, called by the plugin. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Scope } from './folder.ts'
import { deploy, untilDone } from './service/deploy.ts'
import { createEnvironment, siteAnswer } from './service/environment.ts'
import { startService } from './service/service.ts'
import { createWebhooks } from './service/webhooks.ts'
import { addAddress, startWordPress } from './service/wordpress.ts'
import { until } from './until.ts'

const APP = join(import.meta.dirname, '../fixtures/learned-app.ts')

export type LearnedSite = Awaited<ReturnType<typeof startLearnedSite>>

export async function startLearnedSite(t: Scope, { posts }: { posts: number }) {
  const wordpress = await startWordPress(t, { address: await addAddress(t) })
  const allowed = `${wordpress.address}:${wordpress.port}`
  const service = await startService(t, { settings: { HEADLAND_ALLOWED_NETWORKS: allowed } })
  const as = await service.login()
  const ids: number[] = JSON.parse(
    await wordpress.inWordPress(`require 'wp-load.php'; wp_defer_term_counting(true); $ids = [];
      for ($i = 1; $i <= ${posts}; $i++) $ids[] = wp_insert_post(['post_title' => "Post $i", 'post_status' => 'publish', 'post_author' => 1]);
      wp_defer_term_counting(false); echo json_encode($ids);`),
  )
  const shellVariables = [{ key: 'CMS_URL', value: wordpress.url }]
  const body = {
    displayName: 'Learned',
    branch: 'uploadable',
    cmsEnvironment: 'cms',
    shellVariables,
    learnedCaching: { maxAgeSeconds: 86_400 },
  }
  const { name, url } = await createEnvironment(service, as, { body })
  const files = {
    'package.json': JSON.stringify({ type: 'module', scripts: { start: 'node app.ts' } }),
    'app.ts': await readFile(APP),
  }
  const done = await deploy(service, as, name, files)
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  const { purgeCache } = await createWebhooks(service, as, name)
  await wordpress.setConstants({ HEADLAND_ALLOW_PRIVATE_ADDRESS: new URL(service.api).host })
  await wordpress.setOptions({ url: purgeCache, quiet: 0 })
  const paths = ['/', '/list/post', ...ids.map((id) => `/post/${id}`)]

  /** The paths for which the app was asked. */
  async function visitAll(): Promise<string[]> {
    const asked: string[] = []
    for (const path of paths) {
      const { status, text, headers } = await siteAnswer(service, url, path)
      assert.equal(status, 200, `${path}: ${text.slice(0, 200)}`)
      if (headers.age === undefined) asked.push(path)
    }
    return asked
  }

  return {
    ids,
    paths,
    visitAll,
    get: async (path: string) => (await siteAnswer(service, url, path)).text,
    /** Until every page is kept: the hook learns first how the app gets its content. */
    fill: () => until(async () => (await visitAll()).length === 0, 'every page is kept'),
    /** Edits a post as its editor does. Resolves when the plugin has called. */
    async edit(id: number, title: string) {
      await wordpress.update(id, title)
      await until(async () => {
        const { counts, worker } = await wordpress.state()
        return worker === '' && Object.keys(counts).length === 0
      }, 'the plugin has called')
    },
    async purgeEverything() {
      const asked = await service.call(`/v1/${name}:clearCache`, { method: 'POST', as, body: {} })
      assert.equal(asked.status, 200, asked.text)
      await untilDone(service, as, asked.json.name)
    },
    triggers: async () => (await service.call(`/v1/${name}/triggers`, { as })).json.triggers,
  }
}
