/** Which address an app sees as its visitor when it trusts the proxy on its own loopback, and which as its peer. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, test } from 'node:test'
import { deploy, type Files } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { deployExample } from '../../support/service/examples.ts'
import { startService, type TestService } from '../../support/service/service.ts'

/** The proxy in front of the service is trusted, and its address differs from the visitor's. */
const [PROXY, VISITOR] = ['127.0.0.8', '127.0.0.9']

const service = await startService({ after }, { settings: { HEADLAND_TRUSTED_PROXIES: PROXY } })
const as = await service.login()

/** The response of the site to a visitor from this address. */
function answerTo(
  at: TestService,
  { url, path = '/', from, forwarded }: { url: string; path?: string; from: string; forwarded?: string },
): Promise<string> {
  const { hostname, port } = new URL(at.edge)
  const headers = { host: new URL(url).host, ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }) }
  return new Promise((resolve, reject) => {
    const asked = request({ host: hostname, port, path, headers, localAddress: from, agent: false }, async (response) =>
      resolve((await response.setEncoding('utf8').toArray()).join('')),
    )
    asked.once('error', reject).end()
  })
}

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

/** It listens on its own loopback only. */
const ON_LOOPBACK: Files = {
  'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }),
  'server.js': `
    const server = require('node:http').createServer(({ socket, headers }, response) => {
      response.end([socket.remoteAddress, headers['x-forwarded-for']].join(' '))
    })
    server.listen(process.env.PORT, '127.0.0.1')
    process.on('SIGTERM', () => server.close(() => process.exit()))`,
}

for (const [what, settings] of Object.entries({
  'in a sandbox': undefined,
  'without a sandbox': { HEADLAND_BUBBLEWRAP: '/nowhere/bwrap' },
})) {
  test(`an app ${what} that listens on 127.0.0.1 alone is reached, and its peer is loopback`, async (t) => {
    const at = settings ? await startService(t, { settings }) : service
    const login = settings ? await at.login() : as
    const environment = await createEnvironment(at, login)
    const done = await deploy(at, login, environment.name, ON_LOOPBACK)
    assert.equal(done.error, undefined, JSON.stringify(done.error))
    assert.equal(await answerTo(at, { url: environment.url, from: VISITOR }), `127.0.0.1 ${VISITOR}`)
    // Without a sandbox, a killed service leaves its apps running.
    if (settings) await at.stop()
  })
}
