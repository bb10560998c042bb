/**
 * A client of the OCI distribution API: blobs and manifests of one registry. What is read by a digest is verified. An upload or
 * a download that is cut off goes on where it was.
 */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Clock } from '../../base/index.ts'
import { checkDigest, type Digest } from '../../storage/index.ts'
import { expect, reasonIn, type Waiting } from './answers.ts'
import { createAuthorizer, type Login } from './authorize.ts'
import { createDownload } from './download.ts'
import { createManifestCalls } from './manifests.ts'
import { DigestMismatch, RegistryRefused, RegistryUnreachable } from './problem.ts'
import { retry, retryAfterOf } from './retry.ts'
import { type Answer, type Ask, createTransport, SinkFailed, within } from './transport.ts'

export type BlobFile = { digest: Digest; size: number; file: string }

type Parts = {
  clock: Clock
  /** `https://registry.example`, without a path. */
  origin: string
  login?: Login | undefined
  /** Whether plain HTTP is allowed for hosts other than this machine. */
  allowsPlainHttp?: boolean
  userAgent: string
  /** How long a registry that is away is asked again. */
  timeoutMs: number
}

/** Larger blobs are sent so that they can be resumed. */
const SINGLE_BYTES = 4 * 1024 * 1024

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(host)

export function createRegistryClient({ clock, origin, login, allowsPlainHttp = false, userAgent, timeoutMs }: Parts) {
  const transport = createTransport({ userAgent, mayBePlain: (host) => allowsPlainHttp || isLoopback(host) })
  const authorizer = createAuthorizer({ clock, transport, login })

  const at = (repository: string, path: string): URL => new URL(`/v2/${repository}/${path}`, origin)

  /** Rejects where another attempt may help; every other status is the caller's to judge. */
  async function ask(repository: string, given: Ask): Promise<Answer> {
    const answer = await authorizer.ask(given, repository)
    if (answer.status !== 429 && answer.status < 500) return answer
    const retryAfterMs = retryAfterOf([answer.headers['retry-after'] ?? []].flat()[0], clock.now())
    throw new RegistryUnreachable(`${given.url.host} answered ${answer.status}${reasonIn(answer)}.`, { retryAfterMs })
  }

  const retried = <T>(attempt: () => Promise<T>, waiting: Waiting): Promise<T> =>
    retry(attempt, { clock, timeoutMs, ...waiting })

  async function hasBlob(repository: string, { digest, size }: Omit<BlobFile, 'file'>, signal?: AbortSignal) {
    const answer = await ask(repository, { method: 'HEAD', url: at(repository, `blobs/${digest}`), signal })
    if (answer.status === 404) return false
    expect(answer, [200], `the look for ${digest}`)
    const [length] = [answer.headers['content-length'] ?? []].flat()
    return length === undefined || Number(length) === size
  }

  async function beginUpload(repository: string, signal: AbortSignal | undefined): Promise<URL> {
    const answer = await ask(repository, { method: 'POST', url: at(repository, 'blobs/uploads/'), signal })
    expect(answer, [202], 'the begin of an upload')
    return placeIn(answer)
  }

  /** The end of an upload, with the bytes that are not there yet. */
  async function finishUpload(
    repository: string,
    { digest }: BlobFile,
    place: URL,
    { body, signal }: Pick<Ask, 'body' | 'signal'>,
  ) {
    const url = new URL(place)
    url.searchParams.set('digest', digest)
    const headers = { 'content-type': 'application/octet-stream' }
    const answer = await ask(repository, { method: 'PUT', url, headers, body: body ?? Buffer.alloc(0), signal })
    expect(answer, [201, 204], `the end of the upload of ${digest}`)
  }

  return {
    origin,

    hasBlob: (repository: string, blob: Omit<BlobFile, 'file'>, waiting: Waiting = {}): Promise<boolean> =>
      retried(() => hasBlob(repository, blob, waiting.signal), waiting),

    /** Takes a blob from another repository of the same registry. Returns whether the registry did so. */
    async mountBlob(repository: string, { digest }: Omit<BlobFile, 'file'>, from: string, waiting: Waiting = {}) {
      const url = at(repository, 'blobs/uploads/')
      url.searchParams.set('mount', digest)
      url.searchParams.set('from', from)
      const { signal } = waiting
      const answer = await retried(() => ask(repository, { method: 'POST', url, signal }), waiting)
      // It has begun an upload instead, which does not go on.
      if (answer.status === 202) await ask(repository, { method: 'DELETE', url: placeIn(answer), signal })
      return answer.status === 201
    },

    /** Uploads a blob unless it is there. Returns whether it was sent. */
    async pushBlob(repository: string, blob: BlobFile, waiting: Waiting = {}): Promise<boolean> {
      const { signal } = waiting
      const upload = { place: undefined as URL | undefined, sent: 0 }
      return retried(async () => {
        if (upload.place === undefined && (await hasBlob(repository, blob, signal))) return false
        if (blob.size <= SINGLE_BYTES) {
          const place = await beginUpload(repository, signal)
          await finishUpload(repository, blob, place, { body: bodyFrom(blob, 0), signal })
          return true
        }
        if (upload.place !== undefined) await findPlace(repository, upload, signal)
        upload.place ??= await beginUpload(repository, signal)
        if (upload.sent < blob.size) {
          const headers = {
            'content-type': 'application/octet-stream',
            'content-range': `${upload.sent}-${blob.size - 1}`,
          }
          const body = bodyFrom(blob, upload.sent)
          const answer = await ask(repository, { method: 'PATCH', url: upload.place, headers, body, signal })
          expect(answer, [202], `the upload of ${blob.digest}`)
          upload.place = placeIn(answer)
          upload.sent = blob.size
        }
        await finishUpload(repository, blob, upload.place, { signal })
        return true
      }, waiting)
    },

    /** Downloads a blob into a new file, and verifies it. */
    async pullBlob(repository: string, blob: BlobFile, waiting: Waiting = {}): Promise<void> {
      const { digest, file } = blob
      checkDigest(digest)
      await using target = await open(file, 'wx', 0o600)
      const download = createDownload(target, blob)
      await retried(async () => {
        if (download.isWhole()) return
        const url = at(repository, `blobs/${digest}`)
        const { signal } = waiting
        const { sink } = download
        const answer = await ask(repository, { method: 'GET', url, headers: download.headers(), signal, sink })
        expect(answer, [200, 206], `the download of ${digest}`)
      }, waiting).catch((error) => {
        if (!(error instanceof SinkFailed)) throw error
        throw error.cause ?? new DigestMismatch(digest)
      })
      download.verify()
    },

    ...createManifestCalls({ at, ask, retried }),

    close: () => transport.close(),
  }

  /** Asks how much of an upload has arrived. Where that is not known any more, it begins anew. */
  async function findPlace(repository: string, upload: { place: URL | undefined; sent: number }, signal?: AbortSignal) {
    if (!upload.place) return
    const answer = await ask(repository, { method: 'GET', url: upload.place, signal })
    const [range] = [answer.headers.range ?? []].flat()
    const last = Number(/^(?:bytes=)?0-(\d+)$/.exec(range ?? '')?.[1] ?? 0)
    // One byte and none are told in the same way.
    const isKnown = (answer.status === 204 || answer.status === 200) && last > 0
    upload.place = isKnown ? placeIn(answer, upload.place) : undefined
    upload.sent = isKnown ? last + 1 : 0
  }
}

export type RegistryClient = ReturnType<typeof createRegistryClient>

const bodyFrom = ({ file, size }: BlobFile, start: number) => ({
  bytes: size - start,
  open: () => createReadStream(file, { start, highWaterMark: 256 * 1024 }),
})

function placeIn({ headers, url }: Answer, fallback?: URL): URL {
  const [to] = [headers.location ?? []].flat()
  if (to !== undefined) return within(to, url)
  if (fallback) return fallback
  throw new RegistryRefused('The registry did not say where to upload to.', 0)
}
