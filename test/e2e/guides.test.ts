/** Every command of a guide runs as it is written. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { deploy, page } from '../support/deploy.ts'
import { createApp, createEnvironment } from '../support/environment.ts'
import { startService } from '../support/service.ts'

/** The shell blocks of a guide, one after the other, on an environment that has a live page. What each prints is one line. */
async function run(t: TestContext, guide: string): Promise<string[]> {
  const service = await startService(t)
  const as = await service.login()
  const app = await createApp(service, as, { app: 'blog' })
  const { name } = await createEnvironment(service, as, { app })
  await deploy(service, as, name, page('a page of the blog'))
  const text = await readFile(new URL(`../../docs/guides/${guide}`, import.meta.url), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
  assert.ok(blocks.length > 0)
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', blocks.join('\necho\n')], {
    env: {
      PATH: process.env.PATH,
      HEADLAND_URL: service.api,
      API_USER: as.userId,
      API_PASSWORD: as.password,
      ENVIRONMENT: name.split('/').at(-1) ?? '',
    },
  })
  return stdout.split('\n')
}

test('the commands of the guide to caching purge and explain', async (t) => {
  const [, purged = '', traced = ''] = await run(t, 'caching.md')
  assert.equal(JSON.parse(purged).done, true)
  assert.match(JSON.parse(traced).verdict, /^Visitors get the file \/index\.html/)
})

test('the command of the guide to WordPress makes the URLs that it speaks of', async (t) => {
  const [set = ''] = await run(t, 'wordpress.md')
  assert.deepEqual(
    JSON.parse(set).webhooks.map(({ action }: { action: string }) => action),
    ['rebuild', 'cleanRebuild', 'purgeCache'],
  )
})

test('the commands of the guide to webhooks make them, call one, let calls settle and tell who called', async (t) => {
  const [, , called = '', changed = '', triggers = ''] = await run(t, 'webhooks.md')
  const { name, metadata } = JSON.parse(called)
  assert.equal(metadata.trigger, 'REBUILD')
  assert.equal(JSON.parse(changed).quietSeconds, 10)
  assert.equal(JSON.parse(triggers).triggers[0].operation, name)
  assert.match(JSON.parse(triggers).triggers[0].userAgent, /^curl/)
})
