/** Serves the files of a deployment that has no process. */
import type { ServerResponse } from 'node:http'
import { dirname } from 'node:path'
import { EARLIER_FILE_STATUS, FILE_STATUS } from '../cache/fields/cache-status.ts'
import type { PlainRequest } from '../fast-path/request.ts'
import { PAGES, sendPage } from '../http/pages.ts'
import type { Visit } from '../http/visit.ts'
import { toParts, type Wire } from '../http/wire.ts'
import type { Limits } from '../limits.ts'
import { withNoindex } from '../protection/outward.ts'
import type { RewriteProxy } from '../proxy/rewrite.ts'
import type { Routed, StaticTarget } from '../routes.ts'
import { immutableNameOf } from './earlier/immutable-names.ts'
import { isContentHashed } from './hashed-names.ts'
import { decodePath, type FoundFile } from './look-up.ts'
import { UnreadableManifest } from './manifest-file.ts'
import { createManifests } from './manifests.ts'
import { createReadyFiles } from './ready-files.ts'
import { ASK_EACH_TIME, encodingsOf, FOREVER, sendFile, splitQuery } from './send-file.ts'

const OF_FILES = { 'cache-status': FILE_STATUS }

type Parts = {
  limits: Limits
  /** Sends requests to other hosts, where a rule says so. */
  rewrites: RewriteProxy
  report(error: unknown): void
}

export function createStatics({ limits, rewrites, report }: Parts) {
  const manifests = createManifests(limits)
  const ready = createReadyFiles(limits.readyFileBytes)

  /** An index that is damaged or lost costs only old pages, so it does not fail the request. */
  function ignoreUnreadable(error: unknown): undefined {
    if (!(error instanceof UnreadableManifest)) throw error
    report(error)
  }

  /** Resolves to false, with nothing sent, where no earlier deployment left such a file. */
  async function sendEarlier(visit: Visit, { environment, earlierFiles }: Routed): Promise<boolean> {
    const name = earlierFiles === undefined ? undefined : nameOf(visit)
    if (earlierFiles === undefined || name === undefined) return false
    const file = await manifests.find(environment, earlierFiles, name).catch(ignoreUnreadable)
    if (!file) return false
    const from = { environment, folder: dirname(earlierFiles), manifest: earlierFiles }
    const found = { status: 200, path: file.path ?? '', file, name, ...OF_EARLIER_FILES } as const
    visit.isHit = true
    try {
      await sendFile(visit, from, found, ready)
      return true
    } catch (error) {
      visit.isHit = false
      // The file was removed together with its index, and the routes have just changed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || visit.response.headersSent) throw error
      return false
    }
  }

  return {
    /** Whether an earlier deployment may have left the file. If not, nothing is looked up. */
    mayBeEarlier: (visit: Pick<Visit, 'path'>, target: Routed | undefined): boolean =>
      target?.earlierFiles !== undefined && nameOf(visit) !== undefined,

    sendEarlier,

    /** For the fast path: undefined unless the file is in memory. */
    peek(target: StaticTarget, request: PlainRequest): Wire | undefined {
      // `send` handles conditions and ranges.
      if (request.header('if-none-match') !== undefined || request.header('range') !== undefined) return undefined
      const [path] = splitQuery(request.target)
      const encodings = encodingsOf(request.header('accept-encoding'))
      const file = ready.find(target, encodings, path)
      if (!file) return undefined
      const headers = target.access?.isHidden ? withNoindex([...file.headers]) : file.headers
      return toParts(200, headers, file.body)
    },

    async send(visit: Visit, target: StaticTarget): Promise<void> {
      const { request, response } = visit
      const [path = '', query] = splitQuery(visit.path)
      const found = await manifests.lookUp(target.environment, target.manifest, { path, query })
      if (found.kind === 'proxy') {
        visit.isHit = false
        return rewrites.forward(visit, target, found)
      }
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      if (!isRead && !(found.kind === 'redirect' && found.isByRule))
        return sendPage(response, PAGES.wrongMethod, { allow: 'GET, HEAD', ...OF_FILES })
      switch (found.kind) {
        case 'malformed':
          return sendPage(response, PAGES.badRequest, OF_FILES)
        case 'missing':
          if (await sendEarlier(visit, target)) return
          return sendPage(response, PAGES.notFound, OF_FILES)
        case 'redirect':
          return redirect(response, found.status, found.location)
        case 'file':
          if (found.status === 404 && (await sendEarlier(visit, target))) return
          return sendFile(visit, target, toLive(found), ready)
      }
    },

    /** No host leads to listed files of these environments, or to these manifests, any more. */
    forget(environments: readonly string[], paths: readonly string[]) {
      for (const environment of environments) ready.forget(environment)
      manifests.forget(environments, paths)
    },
  }
}

export type Statics = ReturnType<typeof createStatics>

/** Even a permanent redirect is revalidated each time: the next deployment may have the page at the other URL. */
function redirect(response: ServerResponse, status: number, location: string) {
  response.writeHead(status, { location, 'cache-control': ASK_EACH_TIME, 'content-length': 0, ...OF_FILES })
  response.end()
}

const OF_EARLIER_FILES = { cacheControl: FOREVER, cacheStatus: EARLIER_FILE_STATUS } as const

const toLive = (found: FoundFile) => ({
  ...found,
  name: found.path,
  cacheControl: isContentHashed(found.path) ? FOREVER : ASK_EACH_TIME,
  cacheStatus: FILE_STATUS,
})

function nameOf({ path }: Pick<Visit, 'path'>): string | undefined {
  const decoded = decodePath(splitQuery(path)[0])
  return decoded === undefined ? undefined : immutableNameOf(decoded)
}
