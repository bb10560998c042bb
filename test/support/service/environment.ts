/** Makes an app and an environment over the API, and looks at the environment's site. */
import assert from 'node:assert/strict'
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'
import type { resources } from '../../../src/contract/index.ts'
import type { Login, TestService } from './service.ts'

let count = 0

type Made = { account?: string; app?: string; body?: unknown }

export async function createApp(
  service: TestService,
  as: Login,
  { account = 'default', app }: Made = {},
): Promise<string> {
  const name = app ?? `app-${++count}`
  const made = await service.call(`/v1/accounts/${account}/apps?appId=${name}`, {
    method: 'POST',
    as,
    body: { region: 'regions/US-C', uploadable: {} },
  })
  assert.equal(made.status, 200, made.text)
  return name
}

export async function createEnvironment(
  service: TestService,
  as: Login,
  given: Made = {},
): Promise<resources.Environment> {
  const { account = 'default', body } = given
  const app = given.app ?? (await createApp(service, as, given))
  const asked = await service.call(`/v1/accounts/${account}/apps/${app}/environments`, {
    method: 'POST',
    as,
    body: body ?? { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms' },
  })
  assert.equal(asked.status, 200, asked.text)
  const done = await service.call(`/v1/${asked.json.name}:wait`, { method: 'POST', as })
  assert.equal(done.json.done, true, done.text)
  return done.json.response
}

/** Asks the edge with the site's own Host header, whatever resolves that name. */
export function siteAnswer(
  service: Pick<TestService, 'edge'>,
  url: string,
  path = '/',
  headers: OutgoingHttpHeaders = {},
): Promise<{ status: number; text: string; headers: IncomingHttpHeaders }> {
  const { host } = new URL(url)
  const { hostname, port } = new URL(service.edge)
  return new Promise((resolve, reject) => {
    request({ host: hostname, port, path, headers: { ...headers, host }, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }))
    })
      .on('error', reject)
      .end()
  })
}
