/**
 * What the live deployment itself answers for an address, past the cache: looked up in the manifest of its files, or requested
 * from the running app with one bounded request. No app is woken or started for it, and bodies are measured and not kept.
 */
import { createHash } from 'node:crypto'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import type { Build, Outputs } from '../../builds/index.ts'
import type { resources } from '../../contract/index.ts'
import { lookUpOnce, MANIFEST_NAME } from '../../edge/index.ts'
import type { Instances } from '../../runtime/index.ts'
import type { AppResponse, Origin } from './facts.ts'

const TIMEOUT_MS = 5000
const MAX_BODY_BYTES = 16 * 1024 * 1024
/** The longest header value that is shown. */
const MAX_HEADER_LENGTH = 500

type Parts = { outputs: Pick<Outputs, 'edgeFolderOf' | 'has'>; instances: Pick<Instances, 'of'> }

export function createAskOrigin({ outputs, instances }: Parts) {
  async function lookInto({ output, plan }: Build, url: URL): Promise<Origin> {
    if (!output || plan?.output.kind !== 'static') return { kind: 'NOTHING' }
    if (!(await outputs.has(output))) return { kind: 'SILENT', why: 'has its files on other machines' }
    const asked = { path: url.pathname, ...(url.search === '' ? {} : { query: url.search.slice(1) }) }
    const found = await lookUpOnce(join(outputs.edgeFolderOf(output), MANIFEST_NAME), asked)
    switch (found.kind) {
      case 'file': {
        const { size, digest } = found.file
        return { kind: 'FILE', status: found.status, file: found.path, bytes: size, digest }
      }
      case 'redirect':
        return { kind: 'REDIRECT', status: found.status, location: found.location }
      case 'proxy':
        return { kind: 'SILENT', why: `sends this path on to ${found.origin}` }
      case 'missing':
        return { kind: 'MISSING', status: 404 }
      case 'malformed':
        return { kind: 'MISSING', status: 400 }
    }
  }

  return async function askOrigin(deployment: string, build: Build, url: URL, signal: AbortSignal): Promise<Origin> {
    if (build.plan?.output.kind !== 'server') return lookInto(build, url)
    const running = instances.of(deployment)
    if (running?.state !== 'RUNNING' || !running.instance)
      return { kind: 'SILENT', why: WHY[running?.state ?? 'ASLEEP'] }
    const over = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    return ask(running.instance, url, over).catch((error: Error) => {
      signal.throwIfAborted()
      const isLate = error.name === 'AbortError' || error.name === 'TimeoutError'
      return { kind: 'SILENT', why: isLate ? `did not answer within ${TIMEOUT_MS / 1000} s` : 'broke off its answer' }
    })
  }
}

const WHY: Record<resources.InstanceState, string> = {
  STARTING: 'is starting',
  RUNNING: 'is running',
  ASLEEP: 'sleeps until the next visitor',
  RESTARTING: 'died and is being started again',
  CRASH_LOOP: 'keeps crashing',
}

/** Asks like a browser, so that the response is what people see; without compression, so that bodies can be compared. */
async function ask(
  { host, port }: { host: string; port: number },
  url: URL,
  signal: AbortSignal,
): Promise<AppResponse> {
  const asked = request({
    host,
    port,
    path: url.pathname + url.search,
    agent: false,
    signal,
    headers: {
      host: url.host,
      accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
      'accept-encoding': 'identity',
      'user-agent': 'headland-trace',
      'x-forwarded-host': url.host,
      'x-forwarded-proto': url.protocol.slice(0, -1),
    },
  })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.once('response', resolve).on('error', reject).end()
  })
  try {
    const { headers, statusCode = 0 } = response
    return {
      kind: 'APP',
      status: statusCode,
      contentType: shorten(headers['content-type']),
      cacheControl: shorten(headers['cache-control']),
      vary: shorten(headers.vary),
      etag: shorten(headers.etag),
      lastModified: shorten(headers['last-modified']),
      setsCookie: headers['set-cookie'] !== undefined,
      body: await measure(response, signal),
    }
  } finally {
    asked.destroy()
  }
}

const shorten = (value: string | undefined): string | undefined => value?.slice(0, MAX_HEADER_LENGTH)

/** Undefined for a body that does not end in time, such as a stream of events: the head of the response is still useful. */
async function measure(response: IncomingMessage, signal: AbortSignal): Promise<AppResponse['body']> {
  const isPlain = (response.headers['content-encoding'] ?? 'identity') === 'identity'
  const hash = createHash('sha256')
  let bytes = 0
  try {
    for await (const chunk of response) {
      bytes += chunk.length
      if (bytes > MAX_BODY_BYTES) return undefined
      hash.update(chunk)
    }
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
  return { bytes, digest: isPlain ? hash.digest('hex') : undefined }
}
