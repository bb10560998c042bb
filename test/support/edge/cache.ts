/** An application behind an edge that stores its responses, with a clock that is moved by hand. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Limits } from '../../../src/edge/limits.ts'
import type { Target } from '../../../src/edge/routes.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { ask, type EdgeResponse, HOST, serverTarget, startTestEdge, startUpstream, type TestEdge } from './edge.ts'

type Options = { limits?: Partial<Limits>; memoryBytes?: number; diskBytes?: number; target?: Partial<Target> }

export type CachedApp = TestEdge & {
  app: { port: number }
  /** The requests that the app received, in order. */
  asked: IncomingMessage[]
  /** Advances the clock of the cache alone. */
  pass(seconds: number): void
  get(path?: string, headers?: Record<string, string>): Promise<EdgeResponse>
}

export async function cachedApp(t: Scope, listener: RequestListener, options: Options = {}): Promise<CachedApp> {
  const { limits = {}, memoryBytes = 1e8, diskBytes = 0 } = options
  let nowMs = Date.now()
  const asked: IncomingMessage[] = []
  const app = await startUpstream(t, (request, response) => {
    asked.push(request)
    // With a real date the response would look old as soon as the clock has been advanced.
    response.sendDate = false
    listener(request, response)
  })
  const edge = await startTestEdge(t, { [HOST]: serverTarget(app.port) }, { limits, now: () => nowMs })
  t.after(() => edge.closeCache())
  const folder = diskBytes > 0 ? join(await temporaryFolder(t), 'cache') : ''
  await edge.openCache({ memoryBytes, folder, diskBytes })
  return {
    ...edge,
    app,
    asked,
    pass(seconds) {
      nowMs += seconds * 1000
    },
    get: (path = '/', headers = {}) => ask(edge.port, { path, headers }),
  }
}

/** The `Cache-Status` of a response, without the name of the cache. */
export const statusOf = ({ headers }: EdgeResponse): string =>
  String(headers['cache-status']).replace(/^headland; /, '')

/** Answers with these headers. */
export function send(response: ServerResponse, headers: Record<string, string>, body: string | Buffer = 'body') {
  response.writeHead(200, { 'content-length': Buffer.byteLength(body), ...headers })
  response.end(body)
}

/** Numbered responses, so that no two are the same. */
export function counting(headers: Record<string, string>): RequestListener {
  let count = 0
  return (_, response) => send(response, headers, `answer ${++count}`)
}
