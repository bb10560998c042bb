/** An app that calls the service from inside, as its visitors tell it to. */
import { until } from '../until.ts'
import type { Files } from './deploy.ts'
import { siteAnswer } from './environment.ts'
import type { TestService } from './service.ts'

/**
 * Makes the calls that its visitors put into the path, and answers with the results. It logs more at its start than it
 * should.
 */
export const CALLER: Files = {
  'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }),
  'server.js': `
    console.log('these are', process.env.HEADLESS_APPS_API_TOKEN, process.env.HEADLESS_KV_STORE_TOKEN)
    console.log('started for ' + process.env.HEADLESS_METADATA_ENV_ID)
    const variables = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('HEADLESS_')))
    const server = require('node:http').createServer(async (request, response) => {
      if (request.url === '/') return response.end('hello')
      if (request.url === '/variables') return response.end(JSON.stringify(variables))
      const { url, method, token, body, length } = JSON.parse(decodeURIComponent(request.url.slice(1)))
      try {
        const answer = await fetch(url, {
          method,
          headers: {
            ...(token ? { authorization: 'Bearer ' + token } : {}),
            ...(body || length ? { 'content-type': 'application/json' } : {}),
          },
          ...(length ? { body: JSON.stringify('x'.repeat(length)) } : body ? { body } : {}),
        })
        const text = await answer.text()
        const retryAfter = answer.headers.get('retry-after')
        response.end(JSON.stringify({ status: answer.status, text: text.slice(0, 1000), bytes: text.length, retryAfter }))
      } catch (error) {
        response.end(JSON.stringify({ status: error.cause?.code ?? error.message }))
      }
    })
    server.listen(process.env.PORT, process.env.HOST)
    process.on('SIGTERM', () => server.close(() => process.exit()))
  `,
}

type Variables = Record<
  | 'HEADLESS_METADATA_ENV_ID'
  | 'HEADLESS_APPS_API_URL_ADDRESS'
  | 'HEADLESS_APPS_API_TOKEN'
  | 'HEADLESS_KV_STORE_URL'
  | 'HEADLESS_KV_STORE_TOKEN',
  string
>
type Wish = { url: string; method?: string; token?: string; body?: string; length?: number }
type Got = { status: number | string; text: string; bytes: number; retryAfter: string | null }

/** The variables that the app of an environment gets, and the results of its calls. */
export async function appAt(at: TestService, url: string) {
  // After a restart the app may still be starting.
  const variables = await until(async (): Promise<Variables | undefined> => {
    const { text } = await siteAnswer(at, url, '/variables')
    return text.startsWith('{') ? JSON.parse(text) : undefined
  })
  const { HEADLESS_APPS_API_URL_ADDRESS: api, HEADLESS_KV_STORE_URL: kv } = variables
  async function call(wish: Wish): Promise<Got> {
    return JSON.parse((await siteAnswer(at, url, `/${encodeURIComponent(JSON.stringify(wish))}`)).text)
  }
  const id = variables.HEADLESS_METADATA_ENV_ID
  return {
    id,
    variables,
    call,
    purge: (tags: unknown, { token = variables.HEADLESS_APPS_API_TOKEN, of = id } = {}) =>
      call({ url: `${api}/envs/${of}/edge/cache/tags:purge`, method: 'POST', token, body: JSON.stringify({ tags }) }),
    get: (key: string, token = variables.HEADLESS_KV_STORE_TOKEN) => call({ url: `${kv}/${key}`, token }),
    put: (key: string, what: Pick<Wish, 'body' | 'length'>, token = variables.HEADLESS_KV_STORE_TOKEN) =>
      call({ url: `${kv}/${key}`, method: 'PUT', token, ...what }),
  }
}
