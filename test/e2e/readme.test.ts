import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { siteAnswer } from '../support/environment.ts'
import { startService } from '../support/service.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('the first deploy of the README works as it is written', async (t) => {
  const service = await startService(t)
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const section = /^## First deploy in five minutes$(.*?)^## /ms.exec(readme)?.[1] ?? ''
  const blocks = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
  assert.ok(blocks.length >= 6)
  const script = blocks.join('\n').replaceAll('http://127.0.0.1:8080', service.api)

  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HEADLAND_DATA_DIR: service.dataDir },
  })
  assert.match(stdout, /"done":false/)
  const url = /"done":true.*"url":"([^"]+)"/.exec(stdout)?.[1] ?? ''
  assert.equal((await siteAnswer(service, url)).text, 'hello from Node\n')
  assert.match(stdout, /SWITCHING service Live after /)
})
