/**
 * An app like one of Next.js in a process of its own, with the hook loaded as for real apps, and the API that it calls.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import http, { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const APP = fileURLToPath(new URL('../../fixtures/next-like/server.cjs', import.meta.url))
export const HOOK = fileURLToPath(new URL('../../../src/runtime/hooks/next/coherence.cjs', import.meta.url))

export type Api = {
  url: string
  calls: {
    entries: string[]
    body: { revalidated?: Record<string, number>; made?: Record<string, number> }
    authorization: string | undefined
    path: string | undefined
  }[]
  /** The status of its responses from now on. */
  status: number
  /** It responds when this is settled. */
  gate: Promise<void>
  /** Resolves with the next call. */
  next(): Promise<string[]>
}

export async function startApi(t: TestContext): Promise<Api> {
  const waiting: ((entries: string[]) => void)[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { tags, ...body } = JSON.parse(text)
    api.calls.push({ entries: tags, body, authorization: request.headers.authorization, path: request.url })
    for (const notify of waiting.splice(0)) notify(tags)
    await api.gate
    response.writeHead(api.status).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const api: Api = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    calls: [],
    status: 200,
    gate: Promise.resolve(),
    next: () => new Promise((resolve) => waiting.push(resolve)),
  }
  return api
}

export type AppResponse = { status: number | undefined; headers: IncomingHttpHeaders; text: string }
export type App = { get(path: string, headers?: Record<string, string>): Promise<AppResponse>; output(): string }

export async function startApp(t: TestContext, api: Api, more: Record<string, string> = {}, kind = ''): Promise<App> {
  const env = {
    NODE_OPTIONS: `--require=${HOOK}`,
    HEADLAND_NEXT_COHERENCE: 'on',
    HEADLESS_APPS_API_URL_ADDRESS: api.url,
    HEADLESS_APPS_API_TOKEN: 'a-token',
    HEADLESS_METADATA_ENV_ID: 'an-environment',
    ...more,
  }
  const child: ChildProcess = spawn(process.execPath, [APP, kind], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(async () => {
    if (child.exitCode !== null || !child.kill()) return
    await once(child, 'exit')
  })
  let output = ''
  child.stderr?.on('data', (chunk) => {
    output += chunk
  })
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data')
  const port = Number(line)
  return {
    output: () => output,
    get: (path, headers = {}) =>
      new Promise((resolve, reject) => {
        const call = http.get({ host: '127.0.0.1', port, path, headers, agent: false }, async (response) => {
          let text = ''
          for await (const chunk of response) text += chunk
          resolve({ status: response.statusCode, headers: response.headers, text })
        })
        call.on('error', reject)
      }),
  }
}
