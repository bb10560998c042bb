/** Sends a file that a manifest lists: whole, a part of it, or that it has not changed. */
import { close, constants, open as openDescriptor, read } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { normalizeAcceptEncoding } from '../cache/policy/vary.ts'
import { contentTypeOf } from '../http/content-types.ts'
import { chooseEncoding, type Encoding, isKnown, type Part, readRange } from '../http/negotiate.ts'
import { sendPart } from '../http/send-part.ts'
import type { Visit } from '../http/visit.ts'
import { changeHeaders, type HeaderChanges, withoutContent } from '../rules/headers.ts'
import type { ReadyFiles } from './ready-files.ts'
import type { StaticFile } from './types.ts'

export const FOREVER = 'public, max-age=31536000, immutable'
export const ASK_EACH_TIME = 'public, max-age=0, must-revalidate'

/** A file up to this size is read whole and closed, so that a slow client keeps no file open. */
const SMALL_BYTES = 64 * 1024

/** Where the files are that a manifest lists. */
export type ListedFiles = { environment: string; folder: string; manifest: string }

export type FoundFile = {
  status: number
  /** In the folder. */
  path: string
  file: StaticFile
  /** Decides the type. */
  name: string
  cacheControl: string
  cacheStatus: string
  /** Of rules. */
  headers?: HeaderChanges | undefined
  /** A rule may answer another query otherwise. */
  readsQuery?: boolean
}

export async function sendFile(visit: Visit, from: ListedFiles, found: FoundFile, ready: ReadyFiles): Promise<void> {
  const { request, response } = visit
  const { status, path, file, cacheControl, cacheStatus, headers: changes = NO_CHANGES } = found
  const { headers } = request
  const accepted = headers['accept-encoding'] as string | undefined
  const encodings = encodingsOf(accepted)
  const representation = chooseRepresentation(from, path, file, accepted)
  const { etag, size } = representation

  const common = ['cache-control', cacheControl, 'etag', etag, 'cache-status', cacheStatus]
  if (file.br !== undefined || file.gzip !== undefined) common.push('vary', 'Accept-Encoding')
  if (status === 200 && isKnown(headers['if-none-match'], etag)) {
    response.writeHead(304, changed(common, withoutContent(changes)))
    return void response.end()
  }

  common.push('content-type', contentTypeOf(found.name).type, 'accept-ranges', 'bytes')
  if (representation.encoding !== 'identity') common.push('content-encoding', representation.encoding)
  const isPartial = status === 200 && request.method === 'GET'
  const range = isPartial ? readRange(headers.range, headers['if-range']?.toString(), representation) : 'whole'
  if (range === 'unsatisfiable') {
    const none = ['content-range', `bytes */${size}`, 'content-length', '0', 'cache-control', ASK_EACH_TIME]
    response.writeHead(416, [...none, 'cache-status', cacheStatus])
    return void response.end()
  }

  const part = range === 'whole' ? { start: 0, end: size - 1 } : range
  const length = part.end - part.start + 1
  common.push('content-length', String(length))
  if (range !== 'whole') common.push('content-range', `bytes ${part.start}-${part.end}/${size}`)
  const code = range === 'whole' ? status : 206
  const sent = changed(common, changes)
  if (request.method === 'HEAD' || length === 0) {
    response.writeHead(code, sent)
    return void response.end()
  }
  if (length > SMALL_BYTES) return stream(response, representation.disk, part, () => response.writeHead(code, sent))
  if (code !== 200 || found.readsQuery) {
    const body = await readPart(representation.disk, part)
    response.writeHead(code, sent)
    return void response.end(body)
  }
  const [address] = splitQuery(visit.path)
  const body = ready.findSame(from, encodings, address, etag) ?? (await readPart(representation.disk, part))
  ready.keep(from, encodings, address, { etag, headers: sent, body })
  response.writeHead(code, sent)
  response.end(body)
}

const NO_CHANGES: HeaderChanges = new Map()

const changed = (headers: string[], changes: HeaderChanges): string[] =>
  changes.size === 0 ? headers : changeHeaders(headers, changes)

/** The path of a request, and its query. */
export function splitQuery(path: string): [string, string?] {
  const at = path.indexOf('?')
  return at < 0 ? [path] : [path.slice(0, at), path.slice(at + 1)]
}

/** What decides which encoding of a file is sent: the accepted ones, and the preferred one. */
export const encodingsOf = (accepted: string | undefined): string =>
  `${normalizeAcceptEncoding(accepted)}/${chooseEncoding(accepted, ENCODINGS)}`

const ENCODINGS: readonly Encoding[] = ['br', 'gzip']

type Representation = { encoding: Encoding; disk: string; size: number; etag: string }

/** Each encoding is a representation of its own, with its own tag (RFC 9110, section 8.8.3.3). */
function chooseRepresentation(
  from: ListedFiles,
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
  const variants = dirname(from.manifest)
  if (encoding === 'br' && file.br !== undefined && file.brSize !== undefined) {
    return { encoding, disk: join(variants, file.br), size: file.brSize, etag: `"${tag}-br"` }
  }
  if (encoding === 'gzip' && file.gzip !== undefined && file.gzipSize !== undefined) {
    return { encoding, disk: join(variants, file.gzip), size: file.gzipSize, etag: `"${tag}-gz"` }
  }
  return { encoding: 'identity', disk: join(from.folder, path), size: file.size, etag: `"${tag}"` }
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
  const descriptor = await openFile(disk, READ_ONLY)
  try {
    begin()
  } catch (error) {
    await closeFile(descriptor)
    throw error
  }
  await sendPart({ descriptor, start, end: end + 1 }, response)
}
