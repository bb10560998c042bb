/** Serves the files of a deployment that has no process. */
import { close, constants, open as openDescriptor, read } from 'node:fs'
import { open } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { FILE_STATUS } from '../cache/fields/cache-status.ts'
import { normalizeAcceptEncoding } from '../cache/policy/vary.ts'
import type { PlainRequest } from '../fast-path/request.ts'
import { contentTypeOf } from '../http/content-types.ts'
import { chooseEncoding, type Encoding, isKnown, type Part, readRange } from '../http/negotiate.ts'
import { PAGES, sendPage } from '../http/pages.ts'
import type { Visit } from '../http/visit.ts'
import { toParts, type Wire } from '../http/wire.ts'
import type { Limits } from '../limits.ts'
import { withNoindex } from '../protection/outward.ts'
import type { StaticTarget } from '../routes.ts'
import { isContentHashed } from './hashed-names.ts'
import type { LookUpResult } from './look-up.ts'
import { createManifests } from './manifests.ts'
import { createReadyFiles, type ReadyFiles } from './ready-files.ts'
import type { StaticFile } from './types.ts'

const FOREVER = 'public, max-age=31536000, immutable'
const ASK_EACH_TIME = 'public, max-age=0, must-revalidate'

const OF_FILES = { 'cache-status': FILE_STATUS }

/** A file up to this size is read whole and closed, so that a slow client keeps no file open. */
const SMALL_BYTES = 64 * 1024

export function createStatics({ limits }: { limits: Limits }) {
  const manifests = createManifests(limits)
  const ready = createReadyFiles(limits.readyFileBytes)

  return {
    /** For the fast path: undefined unless the file is in memory. */
    peek(target: StaticTarget, request: PlainRequest): Wire | undefined {
      // `send` handles conditions and ranges.
      if (request.header('if-none-match') !== undefined || request.header('range') !== undefined) return undefined
      const [path] = split(request.target)
      const encodings = encodingsOf(request.header('accept-encoding'))
      const file = ready.find(target, encodings, path)
      if (!file) return undefined
      const headers = target.access?.isHidden ? withNoindex([...file.headers]) : file.headers
      return toParts(200, headers, file.body)
    },

    async send(visit: Visit, target: StaticTarget): Promise<void> {
      const { request, response } = visit
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        return sendPage(response, PAGES.wrongMethod, { allow: 'GET, HEAD', ...OF_FILES })
      }
      const [path = '', query] = split(visit.path)
      const found = await manifests.lookUp(target.environment, target.manifest, path)
      switch (found.kind) {
        case 'malformed':
          return sendPage(response, PAGES.badRequest, OF_FILES)
        case 'missing':
          return sendPage(response, PAGES.notFound, OF_FILES)
        case 'redirect':
          return redirect(response, found.status, query === undefined ? found.location : `${found.location}?${query}`)
        case 'file':
          return sendFile(visit, target, found, ready)
      }
    },

    /** No host leads to static files of these environments, or to these manifests, any more. */
    forget(environments: readonly string[], paths: readonly string[]) {
      for (const environment of environments) ready.forget(environment)
      manifests.forget(environments, paths)
    },
  }
}

export type Statics = ReturnType<typeof createStatics>

function split(path: string): [string, string?] {
  const at = path.indexOf('?')
  return at < 0 ? [path] : [path.slice(0, at), path.slice(at + 1)]
}

/** Even a permanent redirect is revalidated each time: the next deployment may have the page at the other URL. */
function redirect(response: ServerResponse, status: 301 | 307, location: string) {
  response.writeHead(status, { location, 'cache-control': ASK_EACH_TIME, 'content-length': 0, ...OF_FILES })
  response.end()
}

async function sendFile(
  visit: Visit,
  target: StaticTarget,
  found: Extract<LookUpResult, { kind: 'file' }>,
  ready: ReadyFiles,
) {
  const { request, response } = visit
  const { status, path, file } = found
  const { headers } = request
  const accepted = headers['accept-encoding'] as string | undefined
  const encodings = encodingsOf(accepted)
  const representation = chooseRepresentation(target, path, file, accepted)
  const { etag, size } = representation

  const common = ['cache-control', isContentHashed(path) ? FOREVER : ASK_EACH_TIME, 'etag', etag]
  common.push('cache-status', FILE_STATUS)
  if (file.br !== undefined || file.gzip !== undefined) common.push('vary', 'Accept-Encoding')
  if (status === 200 && isKnown(headers['if-none-match'], etag)) {
    response.writeHead(304, common)
    return void response.end()
  }

  common.push('content-type', contentTypeOf(path).type, 'accept-ranges', 'bytes')
  if (representation.encoding !== 'identity') common.push('content-encoding', representation.encoding)
  const isPartial = status === 200 && request.method === 'GET'
  const range = isPartial ? readRange(headers.range, headers['if-range']?.toString(), representation) : 'whole'
  if (range === 'unsatisfiable') {
    const none = ['content-range', `bytes */${size}`, 'content-length', '0', 'cache-control', ASK_EACH_TIME]
    response.writeHead(416, [...none, 'cache-status', FILE_STATUS])
    return void response.end()
  }

  const part = range === 'whole' ? { start: 0, end: size - 1 } : range
  const length = part.end - part.start + 1
  common.push('content-length', String(length))
  if (range !== 'whole') common.push('content-range', `bytes ${part.start}-${part.end}/${size}`)
  const code = range === 'whole' ? status : 206
  if (request.method === 'HEAD' || length === 0) {
    response.writeHead(code, common)
    return void response.end()
  }
  if (length > SMALL_BYTES) return stream(response, representation.disk, part, () => response.writeHead(code, common))
  if (code !== 200) {
    const body = await readPart(representation.disk, part)
    response.writeHead(code, common)
    return void response.end(body)
  }
  const [address] = split(visit.path)
  const body = ready.findSame(target, encodings, address, etag) ?? (await readPart(representation.disk, part))
  ready.keep(target, encodings, address, { etag, headers: common, body })
  response.writeHead(code, common)
  response.end(body)
}

/** What decides which encoding of a file is sent: the accepted ones, and the preferred one. */
const encodingsOf = (accepted: string | undefined): string =>
  `${normalizeAcceptEncoding(accepted)}/${chooseEncoding(accepted, ENCODINGS)}`

const ENCODINGS: readonly Encoding[] = ['br', 'gzip']

type Representation = { encoding: Encoding; disk: string; size: number; etag: string }

/** Each encoding is a representation of its own, with its own tag (RFC 9110, section 8.8.3.3). */
function chooseRepresentation(
  target: StaticTarget,
  path: string,
  file: StaticFile,
  accepted: string | undefined,
): Representation {
  const available: Encoding[] = []
  if (file.br !== undefined) available.push('br')
  if (file.gzip !== undefined) available.push('gzip')
  const encoding = available.length === 0 ? 'identity' : chooseEncoding(accepted, available)
  // Half of the digest: 128 bits tell any two files apart.
  const tag = file.digest.slice(0, 32)
  const variants = dirname(target.manifest)
  if (encoding === 'br' && file.br !== undefined && file.brSize !== undefined) {
    return { encoding, disk: join(variants, file.br), size: file.brSize, etag: `"${tag}-br"` }
  }
  if (encoding === 'gzip' && file.gzip !== undefined && file.gzipSize !== undefined) {
    return { encoding, disk: join(variants, file.gzip), size: file.gzipSize, etag: `"${tag}-gz"` }
  }
  return { encoding: 'identity', disk: join(target.folder, path), size: file.size, etag: `"${tag}"` }
}

/** The manifest lists no symbolic links: one that replaced a file later is not followed. */
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW

// File descriptors, because a FileHandle would double the cost of a read.
const openFile = promisify(openDescriptor)
const readFile = promisify(read)
const closeFile = promisify(close)

async function readPart(disk: string, { start, end }: Part): Promise<Buffer> {
  const body = Buffer.allocUnsafe(end - start + 1)
  const descriptor = await openFile(disk, READ_ONLY)
  try {
    for (let filled = 0; filled < body.length; ) {
      const { bytesRead } = await readFile(descriptor, body, filled, body.length - filled, start + filled)
      if (bytesRead === 0) throw new Error(`${disk} is shorter than its manifest says`)
      filled += bytesRead
    }
    return body
  } finally {
    await closeFile(descriptor)
  }
}

async function stream(response: ServerResponse, disk: string, { start, end }: Part, begin: () => void) {
  const handle = await open(disk, READ_ONLY)
  const content = handle.createReadStream({ start, end })
  try {
    begin()
    await pipeline(content, response, { end: false })
    if (content.bytesRead !== end - start + 1) throw new Error(`${disk} is shorter than its manifest says`)
    response.end()
  } finally {
    // Closes the file. The pipeline does so, too, but not when the client left before it began.
    content.destroy()
  }
}
