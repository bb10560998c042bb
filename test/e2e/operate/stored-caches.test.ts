/** A machine that has no caches gets those of another one from the object store. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { BUCKET, KEYS, startS3Server } from '../../support/object-store/s3-server.ts'
import { startServiceOn } from '../../support/object-store/service.ts'
import { deploy, type Files, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'

/** Counts its builds in a folder that is kept between them. */
const COUNTER: Files = {
  'package.json': JSON.stringify({ name: 'counter', version: '1.0.0', scripts: { build: 'node build.js' } }),
  'build.js': `
    const fs = require('node:fs')
    const kept = 'node_modules/.cache/count'
    const count = fs.existsSync(kept) ? Number(fs.readFileSync(kept)) + 1 : 1
    fs.mkdirSync('node_modules/.cache', { recursive: true })
    fs.writeFileSync(kept, String(count))
    fs.mkdirSync('dist', { recursive: true })
    fs.writeFileSync('dist/index.html', 'built ' + count + ' times')`,
}

test('a build finds the caches of another machine, and is built without them while the store is away', async (t) => {
  const server = await startS3Server(t)
  const store = { ...server, bucket: BUCKET, ...KEYS }
  const service = await startServiceOn(t, { store, prefix: 'warm' })
  const as = await service.login()
  const { name: environment, url } = await createEnvironment(service, as)
  const shown = async () => (await siteAnswer(service, url)).text
  const logOf = async (build: string | undefined) => (await service.call(`/v1/${build}/log`, { as })).text

  async function rebuild() {
    const asked = await service.call(`/v1/${environment}:rebuild`, { method: 'POST', as, body: {} })
    const done = await untilDone(service, as, asked.json.name)
    assert.equal(done.error, undefined, JSON.stringify(done.error))
    return logOf(done.metadata.build)
  }
  async function loseCaches() {
    await rm(join(service.dataDir, 'environments', `${environment.split('/').at(-1)}`, 'cache'), { recursive: true })
  }

  const first = await deploy(service, as, environment, COUNTER)
  assert.equal(first.error, undefined, JSON.stringify(first.error))
  assert.match(await logOf(first.metadata.build), /Copied the caches to the object store/)
  await loseCaches()
  assert.match(await rebuild(), /Fetched the caches of an earlier build from the object store/)
  assert.match(await shown(), /built 2 times/)

  await loseCaches()
  const cache = join(service.dataDir, 'object-cache')
  const copies = [...server.objects.keys()].filter((key) => key.startsWith('warm/caches/'))
  assert.equal(copies.length, 1)
  const hex = copies[0]?.split('/').at(-1) ?? ''
  await rm(join(cache, hex.slice(0, 2), hex))
  await server.stop()
  assert.match(await rebuild(), /Warning: the caches of earlier builds could not be fetched/)
  assert.match(await shown(), /built 1 times/)
})
