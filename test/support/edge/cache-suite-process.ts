/** The suite's origin and its client in one process. A message names the address of the cache between them. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { TIMEOUT_MS } from '../until.ts'
import type { Kind, SuiteMessage, SuiteRequest, SuiteResult, SuiteTest } from './cache-suite.ts'

type Handler = (path: string[], incoming: unknown, outgoing: unknown) => void
type Test = { id: string; name: string; kind?: Kind; depends_on?: string[]; browser_only?: boolean }
type Runner = {
  runTests(sets: TestSet[], fetch: typeof ask, isBrowser: boolean, base: string, atOnce: number): Promise<void>
  getResults(): Record<string, SuiteResult>
}
type TestSet = { tests: Test[] }

/** Most of a test is a pause of some seconds in which an object becomes stale, so many tests run at the same time. */
const AT_ONCE = 120

const [, , folder = ''] = process.argv
const load = (file: string) => import(pathToFileURL(join(folder, file)).href)

const [config, state, test]: Handler[] = await Promise.all(
  ['config', 'state', 'test'].map(async (name) => (await load(`server/handle-${name}.mjs`)).default),
)
const HANDLERS: Record<string, Handler | undefined> = { config, state, test }

// The suite's own server listens on all interfaces, so it is not used.
const origin = createServer((incoming, outgoing) => {
  const [, kind = '', ...path] = new URL(incoming.url ?? '', 'http://origin').pathname.split('/')
  const handle = HANDLERS[kind]
  if (handle) handle(path, incoming, outgoing)
  else outgoing.writeHead(404).end()
})
await once(origin.listen(0, '127.0.0.1'), 'listening')

process.on('disconnect', () => process.exit())
process.on('message', async ({ base }: SuiteRequest) => {
  const sets: TestSet[] = (await load('tests/index.mjs')).default
  const runner: Runner = await load('client/runner.mjs')
  await runner.runTests(sets, ask, false, base, AT_ONCE)
  const results = runner.getResults()
  notify({ tests: sets.flatMap(({ tests }) => tests.filter(isForShared).map((one) => toTest(one, results[one.id]))) })
})
notify({ port: (origin.address() as AddressInfo).port })

const isForShared = ({ browser_only: isBrowserOnly = false }: Test): boolean => !isBrowserOnly

function toTest({ id, name, kind = 'required', depends_on: dependsOn = [] }: Test, result: SuiteResult): SuiteTest {
  return { id, name, kind, dependsOn, result }
}

function notify(message: SuiteMessage) {
  process.send?.(message)
}

type Asked = { method?: string; headers?: [string, string][]; body?: string }

/**
 * What the suite's client needs of `fetch`. Node's own adds `cache-control: no-cache` to a request that is not to come
 * from a cache, which only the tests should decide; each request has its own connection, as with the suite's own
 * client.
 */
async function ask(url: string, { method = 'GET', headers = [], body }: Asked = {}) {
  // A cache that does not answer fails its own test, and does not delay the others.
  const sent = request(url, { method, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) })
  // An error after the response headers rejects the read of the body, too.
  sent.on('error', () => undefined)
  sent.setHeader('accept', '*/*')
  for (const [name, value] of headers) sent.appendHeader(name, String(value))
  if (body !== undefined) sent.setHeader('content-length', Buffer.byteLength(body))
  sent.end(body)
  const [received] = (await once(sent, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of received) chunks.push(chunk)
  const { statusCode: status, statusMessage: statusText, rawHeaders } = received
  const pairs = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as [string, string]] : [],
  )
  return { status, statusText, headers: new Headers(pairs), text: async () => Buffer.concat(chunks).toString() }
}
