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
  /** What the app was asked, in order. */
  asked: IncomingMessage[]
  /** Time goes by for the cache, and for nobody else. */
  pass(seconds: number): void
  get(path?: string, headers?: Record<string, string>): Promise<EdgeResponse>
}

export async function cachedApp(t: Scope, listener: RequestListener, options: Options = {}): Promise<CachedApp> {
  const { limits = {}, memoryBytes = 1e8, diskBytes = 0 } = options
  let nowMs = Date.now()
  const asked: IncomingMessage[] = []
  const app = await startUpstream(t, (request, response) => {
    asked.push(request)
    // By the real clock it would look old as soon as time has been moved.
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

/** The word of the cache about an answer, without its own name. */
export const statusOf = ({ headers }: EdgeResponse): string =>
  String(headers['cache-status']).replace(/^headland; /, '')

/** Answers with these headers. */
export function send(response: ServerResponse, headers: Record<string, string>, body: string | Buffer = 'body') {
  response.writeHead(200, { 'content-length': Buffer.byteLength(body), ...headers })
  response.end(body)
}

/** Answers that say how many there were, so that two of them differ. */
export function counting(headers: Record<string, string>): RequestListener {
  let count = 0
  return (_, response) => send(response, headers, `answer ${++count}`)
}
