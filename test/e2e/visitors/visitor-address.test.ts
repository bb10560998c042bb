/** Which address an app sees as its visitor when it trusts the proxy on its own loopback, and which as its peer. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { answerTo, ON_LOOPBACK } from '../../support/e2e/loopback-app.ts'
import { deploy } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { deployExample } from '../../support/service/examples.ts'
import { startService } from '../../support/service/service.ts'

/** The proxy in front of the service is trusted, and its address differs from the visitor's. */
const [PROXY, VISITOR] = ['127.0.0.8', '127.0.0.9']

const service = await startService({ after }, { settings: { HEADLAND_TRUSTED_PROXIES: PROXY } })
const as = await service.login()

test("an app with Express' trust proxy 'loopback' sees the address of its visitor", async () => {
  const { environment } = await deployExample(service, as, 'express')
  const { json } = await service.call(`/v1/${environment}`, { as })
  const visit = (from: string, forwarded?: string) =>
    answerTo(service, { url: json.url, path: '/api/visitor', from, ...(forwarded ? { forwarded } : {}) })
  const peer = '127.0.0.1'
  assert.deepEqual(JSON.parse(await visit(PROXY, '203.0.113.7')), { address: '203.0.113.7', peer })
  assert.deepEqual(JSON.parse(await visit(VISITOR)), { address: VISITOR, peer })
  // Headers that the visitor sends are ignored, in any form.
  assert.deepEqual(JSON.parse(await visit(VISITOR, '203.0.113.7')), { address: VISITOR, peer })
  assert.deepEqual(JSON.parse(await visit(VISITOR, '203.0.113.7, 127.0.0.1')), { address: VISITOR, peer })
})

test('an app in a sandbox that listens on 127.0.0.1 alone is reached, and its peer is loopback', async () => {
  const { name, url } = await createEnvironment(service, as)
  const { error } = await deploy(service, as, name, ON_LOOPBACK)
  assert.equal(error, undefined, JSON.stringify(error))
  assert.equal(await answerTo(service, { url, from: VISITOR }), `127.0.0.1 ${VISITOR}`)
})
