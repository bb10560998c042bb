/** Every command of a guide runs as it is written. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { deploy, page } from '../support/deploy.ts'
import { createApp, createEnvironment } from '../support/environment.ts'
import { startService } from '../support/service.ts'

test('the commands of the guide to caching purge and explain', async (t) => {
  const service = await startService(t)
  const as = await service.login()
  const app = await createApp(service, as, { app: 'blog' })
  const { name } = await createEnvironment(service, as, { app })
  await deploy(service, as, name, page('a page of the blog'))

  const guide = await readFile(new URL('../../docs/guides/caching.md', import.meta.url), 'utf8')
  const blocks = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
  assert.equal(blocks.length, 3)
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', blocks.join('\necho\n')], {
    env: {
      PATH: process.env.PATH,
      HEADLAND_URL: service.api,
      API_USER: as.userId,
      API_PASSWORD: as.password,
      ENVIRONMENT: name.split('/').at(-1) ?? '',
    },
  })
  const [, purged = '', traced = ''] = stdout.split('\n')
  assert.equal(JSON.parse(purged).done, true)
  assert.match(JSON.parse(traced).verdict, /^Visitors get the file \/index\.html/)
})
