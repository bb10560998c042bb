/** The calls that an app can make to the service: purge its own pages, and store values. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { fieldInvalid, LIMITS, Problem, resources } from '../../contract/index.ts'
import type { Purges, Revalidations } from '../../deployments/index.ts'
import type { Kv } from '../../kv/index.ts'
import { createCheck } from '../validation/index.ts'
import type { Caller, InAppRates } from './rates.ts'

/** Paths below the address of the listener. */
export const APPS_API = '/v1'
export const KV_STORE = '/kv/v1'

/** What the address asks for. */
export type Wanted =
  | { use: 'apps-api'; methods: readonly ['POST']; environmentId: string }
  | { use: 'apps-api'; methods: readonly ['GET']; environmentId: string }
  | { use: 'kv-store'; methods: readonly ['GET', 'PUT']; key: string }

export function readTarget(target: string): Wanted {
  // The key is taken as it was sent: it may contain slashes and escapes, and only the app interprets it.
  if (target.startsWith(`${KV_STORE}/`)) {
    return { use: 'kv-store', methods: ['GET', 'PUT'], key: target.slice(KV_STORE.length + 1) }
  }
  const [, environmentId] = PURGE.exec(target) ?? []
  if (environmentId !== undefined) return { use: 'apps-api', methods: ['POST'], environmentId }
  const [, revalidatedIn] = REVALIDATIONS.exec(target) ?? []
  if (revalidatedIn !== undefined) return { use: 'apps-api', methods: ['GET'], environmentId: revalidatedIn }
  throw new Problem('ROUTE_NOT_FOUND')
}

const PURGE = new RegExp(`^${APPS_API}/envs/([^/]+)/edge/cache/tags:purge$`)
/** For the service's own files in apps of other machines. */
const REVALIDATIONS = new RegExp(`^${APPS_API}/envs/([^/]+)/revalidations$`)

export type InAppResponse = { status: 200 | 204; body?: string | Uint8Array }

type Parts = {
  purges: Pick<Purges, 'byApp'>
  revalidations: Pick<Revalidations, 'read'>
  values: Kv
  rates: InAppRates
}

/** `release` is called when the bytes of the call are no longer in memory. */
export type InAppCall = { caller: Caller; request: IncomingMessage; onRelease(release: () => void): void }

export function createInAppCalls({ purges, revalidations, values, rates }: Parts) {
  const checkTags = createCheck(resources.purgedTags, 'body')

  async function bodyOf({ caller, request, onRelease }: InAppCall, use: Wanted['use'], max: number): Promise<Buffer> {
    if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
      throw new Problem('CONTENT_TYPE_UNSUPPORTED')
    }
    const length = Number(request.headers['content-length'] ?? max)
    if (length > max) throw tooLarge(max)
    onRelease(rates.hold(caller, use, length))
    const chunks: Buffer[] = []
    let bytes = 0
    // The iterator does not destroy the request, so that a caller that sends too much gets an answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > max) throw tooLarge(max)
      chunks.push(chunk)
    }
    const body = Buffer.concat(chunks)
    if (body.length === 0) throw new Problem('JSON_MALFORMED', 'The body is empty.')
    if (!isUtf8(body)) throw new Problem('JSON_MALFORMED', 'The body is not valid UTF-8.')
    return body
  }

  return {
    /** A path is also a tag of its page, so a tag that begins with a slash is purged as both. */
    async purge(call: InAppCall): Promise<InAppResponse> {
      const found = checkTags(parseJson(await bodyOf(call, 'apps-api', LIMITS.bodyBytes)))
      if ('error' in found) throw found.error
      const { tags, ...times } = found.value as resources.PurgedTags
      const paths = tags.filter((tag) => tag.startsWith('/'))
      await purges.byApp({ id: call.caller.environmentId }, paths.length > 0 ? { paths, tags } : { tags }, times)
      return { status: 200, body: '{}' }
    },

    /** What was revalidated in the environment. The record is bounded, and its bytes count as those of a value that is read. */
    async revalidated({ caller, onRelease }: InAppCall): Promise<InAppResponse> {
      const body = Buffer.from(JSON.stringify(await revalidations.read(caller.environmentId)))
      onRelease(rates.hold(caller, 'kv-store', body.length))
      return { status: 200, body }
    },

    /** The value is returned as it was stored. Only the app reads it, so it is not parsed here. */
    async value(call: InAppCall, key: string): Promise<InAppResponse> {
      const { caller, request, onRelease } = call
      const { environmentId } = caller
      if (key === '' || key.length > LIMITS.valueKeyLength) {
        throw fieldInvalid('key', `must have 1 to ${LIMITS.valueKeyLength} characters`)
      }
      if (request.method === 'PUT') {
        await values.put(environmentId, key, await bodyOf(call, 'kv-store', LIMITS.valueBytes))
        return { status: 204 }
      }
      const bytes = await values.bytesOf(environmentId, key)
      if (bytes === undefined) throw new Problem('VALUE_NOT_FOUND')
      onRelease(rates.hold(caller, 'kv-store', bytes))
      const body = await values.get(environmentId, key)
      if (body === undefined) throw new Problem('VALUE_NOT_FOUND')
      return { status: 200, body }
    },
  }
}

const tooLarge = (limit: number): Problem =>
  new Problem('BODY_TOO_LARGE', `The body is larger than ${limit.toLocaleString('en')} bytes.`, {
    metadata: { limit: String(limit) },
  })

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw new Problem('JSON_MALFORMED')
  }
}
