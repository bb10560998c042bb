/** What S3's API does with objects, under the prefix that is ours in the bucket. */
import type { Answer, Client } from './client.ts'
import { faultOf, ObjectStoreFault, textOf, unanswered } from './faults.ts'

export type Objects = ReturnType<typeof createObjects>

export type ObjectFacts = {
  bytes: number
  /** Since it was written, by the clock of the store alone. */
  ageMs: number
}

type Unfinished = { key: string; uploadId: string; ageMs: number }

export function createObjects(client: Client, prefix: string) {
  const keyOf = (name: string): string => (prefix ? `${prefix}/${name}` : name)
  // A store that does not know conditional writes overwrites an object with the same bytes.
  let knowsConditions = true

  /** Sends a write that does nothing if the object is there already. */
  async function unlessThere(write: (headers: Record<string, string>) => Promise<Answer>): Promise<Answer> {
    if (!knowsConditions) return write({})
    try {
      return await write({ 'if-none-match': '*' })
    } catch (error) {
      if (!(error instanceof ObjectStoreFault) || error.code !== 'NotImplemented') throw error
      knowsConditions = false
      return write({})
    }
  }

  async function put(name: string, body: Buffer, { isOnce = false } = {}): Promise<void> {
    const request = { method: 'PUT', key: keyOf(name), body, accept: isOnce ? [412] : [] } as const
    if (isOnce) await unlessThere((headers) => client.ask({ ...request, headers }))
    else await client.ask(request)
  }

  async function head(name: string): Promise<ObjectFacts | undefined> {
    const { status, headers } = await client.ask({ method: 'HEAD', key: keyOf(name), accept: [404] })
    if (status === 404) return undefined
    return { bytes: Number(headers['content-length']), ageMs: ageOf(headers['last-modified'], headers.date) }
  }

  /** Every page of a list. */
  async function* pages(query: Record<string, string>, next: (page: string) => Record<string, string> | undefined) {
    for (let more: Record<string, string> | undefined = {}; more; ) {
      const { text, headers } = await client.ask({ method: 'GET', key: '', query: { ...query, ...more } })
      yield { text, date: headers.date }
      more = textOf(text, 'IsTruncated') === 'true' ? next(text) : undefined
    }
  }

  const nameIn = (part: string): string => (textOf(part, 'Key') ?? '').slice(keyOf('').length)

  return {
    host: client.host,
    put,
    head,

    /**
     * The bytes from `from` on. A connection that breaks in the middle is made good with the rest, as long as there is
     * progress. Undefined if there is no such object.
     */
    async get(
      name: string,
      { from = 0, withinMs = client.timeouts.readMs } = {},
    ): Promise<{ bytes: AsyncIterable<Buffer>; from: number } | undefined> {
      const answer = await client.insist(withinMs, () =>
        client.open({
          method: 'GET',
          key: keyOf(name),
          headers: from > 0 ? { range: `bytes=${from}-` } : {},
          accept: [404],
        }),
      )
      if (answer.statusCode === 404) {
        answer.resume()
        return undefined
      }
      return { bytes: whole(answer, client.host), from: answer.statusCode === 206 ? from : 0 }
    },

    /** An object that is not there is no error. */
    async remove(name: string): Promise<void> {
      await client.ask({ method: 'DELETE', key: keyOf(name), accept: [404] })
    },

    async list(under: string): Promise<{ name: string; ageMs: number }[]> {
      const found: { name: string; ageMs: number }[] = []
      const next = (text: string) => ({ 'continuation-token': textOf(text, 'NextContinuationToken') ?? '' })
      for await (const { text, date } of pages({ 'list-type': '2', prefix: keyOf(under) }, next)) {
        for (const part of partsIn(text, 'Contents')) {
          found.push({ name: nameIn(part), ageMs: ageOf(textOf(part, 'LastModified'), date) })
        }
      }
      return found
    },

    async startUpload(name: string): Promise<string> {
      const { text } = await client.ask({ method: 'POST', key: keyOf(name), query: { uploads: '' } })
      const uploadId = textOf(text, 'UploadId')
      if (!uploadId) throw unanswered(new Error('no upload id'), client.host)
      return uploadId
    },

    async putPart(name: string, uploadId: string, partNumber: number, body: Buffer): Promise<string> {
      const query = { partNumber: String(partNumber), uploadId }
      const { headers } = await client.ask({ method: 'PUT', key: keyOf(name), query, body })
      return headers.etag ?? ''
    },

    /** Whether the object is the one of this upload or was there before, it has the same bytes. */
    async finishUpload(name: string, uploadId: string, etags: readonly string[]): Promise<void> {
      const parts = etags.map((etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag></Part>`)
      const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
      const request = { method: 'POST', key: keyOf(name), query: { uploadId }, body, accept: [404, 412] } as const
      const { status, text, headers } = await unlessThere((given) => client.ask({ ...request, headers: given }))
      // An answer that was lost is asked for again, and then there is no such upload any more.
      if (status === 404 && (await head(name))) return
      // The store begins its answer before it knows the end.
      if (status === 404 || /<Error>/.test(text))
        throw faultOf({ status, body: text, date: headers.date, retryAfter: undefined }, client.host)
    },

    async abortUpload(name: string, uploadId: string): Promise<void> {
      await client.ask({ method: 'DELETE', key: keyOf(name), query: { uploadId }, accept: [404] })
    },

    async unfinishedUploads(under: string): Promise<Unfinished[]> {
      const found: Unfinished[] = []
      const next = (text: string) => ({
        'key-marker': textOf(text, 'NextKeyMarker') ?? '',
        'upload-id-marker': textOf(text, 'NextUploadIdMarker') ?? '',
      })
      for await (const { text, date } of pages({ uploads: '', prefix: keyOf(under) }, next)) {
        for (const part of partsIn(text, 'Upload')) {
          const uploadId = textOf(part, 'UploadId') ?? ''
          found.push({ key: nameIn(part), uploadId, ageMs: ageOf(textOf(part, 'Initiated'), date) })
        }
      }
      return found
    },

    /** `Enabled`, `Suspended`, or undefined where old versions were never kept. */
    async versioning(): Promise<string | undefined> {
      const { text } = await client.ask({ method: 'GET', key: '', query: { versioning: '' } })
      return textOf(text, 'Status')
    },

    close: client.close,
  }
}

/** An answer that ends before its length is a fault, and not an end. */
async function* whole(answer: AsyncIterable<Buffer>, host: string): AsyncGenerator<Buffer> {
  try {
    yield* answer
  } catch (error) {
    throw unanswered(error, host)
  }
}

const partsIn = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map(([, part = '']) => part)

/** Both times are those of the store and have whole seconds, so the age may be a second less. */
function ageOf(time: string | undefined, now: string | undefined): number {
  const ageMs = Date.parse(now ?? '') - Date.parse(time ?? '') - 1000
  return Number.isNaN(ageMs) ? 0 : Math.max(0, ageMs)
}
