/** The object store is away for a while under load: visitors notice nothing, and nothing that was acknowledged is lost. */
import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { rounds } from '../support/long.ts'
import { nameOf, startServiceOn, type TestStore } from '../support/object-store/service.ts'
import { deploy, page, untilDone, upload } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { startVisitors } from '../support/service/load.ts'
import { createWebhooks, hook } from '../support/service/webhooks.ts'
import { until } from '../support/until.ts'
import { zipOf } from '../support/zip.ts'

const AWAY_MS = rounds({ short: 1000, long: 30_000 })

/** Each of them is built, and a build takes longer. */
const UPLOAD_PAUSE_MS = 200

type Parts = {
  store(t: TestContext): Promise<TestStore>
  /** Every name below the prefix. */
  namesIn(store: TestStore, prefix: string): Promise<string[]>
}

export function outageSuite(name: string, { store: storeOf, namesIn }: Parts) {
  test(`${name} away until an upload was refused, and for ${AWAY_MS / 1000} s at least: visitors notice nothing, uploads get 503, the rest goes on by itself`, async (t) => {
    const store = await storeOf(t)
    const prefix = 'outage/a'
    const service = await startServiceOn(t, { store, prefix })
    const as = await service.login()
    const { name: environment, url } = await createEnvironment(service, as)
    const first = await deploy(service, as, environment, page('0'))
    assert.equal(first.error, undefined, JSON.stringify(first.error))
    const webhooks = await createWebhooks(service, as, environment)
    const visitors = startVisitors(t, service, url)
    const acknowledged: { zip: Buffer; operation: string }[] = []
    const refused: { status: number; retryAfter: string | null }[] = []
    let isOver = false

    /** Uploads one version after the other. */
    async function keepUploading() {
      for (let version = 1; !isOver; version += 1) {
        const zip = zipOf(page(String(version)))
        const { status, headers, json } = await upload(service, as, environment, zip)
        if (status === 200) acknowledged.push({ zip, operation: json.name })
        else refused.push({ status, retryAfter: headers.get('retry-after') })
        await wait(UPLOAD_PAUSE_MS)
      }
    }
    const uploading = keepUploading()
    await until(() => acknowledged.length >= 2)
    await store.stop()
    const began = performance.now()
    // What the next build needs is not on this machine any more.
    const cache = join(service.dataDir, 'object-cache')
    for (const folder of await readdir(cache))
      if (folder !== 'aside') await rm(join(cache, folder), { recursive: true })
    assert.equal((await hook(service, webhooks.rebuild)).status, 200)
    assert.equal((await service.call(`/v1/${environment}`, { as })).status, 200)
    await until(() => refused.length > 0, 'an upload is refused')
    await wait(Math.max(0, AWAY_MS - (performance.now() - began)))
    const before = acknowledged.length
    await store.startAgain()
    await until(() => acknowledged.length > before, 'an upload is taken again')
    isOver = true
    await uploading

    assert.deepEqual(
      [...new Set(refused.map((one) => JSON.stringify(one)))],
      [JSON.stringify({ status: 503, retryAfter: '5' })],
    )
    const names = await namesIn(store, prefix)
    const lost = acknowledged.filter(({ zip }) => !names.includes(`${prefix}/${nameOf(zip)}`))
    assert.deepEqual(lost, [])
    for (const { operation } of acknowledged.slice(-1)) {
      const { error } = await untilDone(service, as, operation)
      assert.equal(error, undefined, JSON.stringify(error))
    }
    const { json } = await service.call(`/v1/${environment}/builds?pageSize=200`, { as })
    assert.deepEqual(
      json.builds.filter(({ state }: { state: string }) => state === 'FAILED'),
      [],
    )
    const { count, failures } = await visitors.stop()
    assert.deepEqual([count > 0, failures], [true, []])
    assert.match((await siteAnswer(service, url)).text, /<p>\d+<\/p>/)
  })
}
