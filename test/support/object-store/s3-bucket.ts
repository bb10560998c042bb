/** What the small server keeps: objects, and uploads that are not ended. */
import { createHash } from 'node:crypto'
import type { S3Request } from './s3-request.ts'

type Stored = { bytes: Buffer; time: number; etag: string }
type Upload = { key: string; time: number; parts: Map<number, Buffer> }

export function createBucket({ pageSize, now }: { pageSize: number; now(): number }) {
  const objects = new Map<string, Stored>()
  const uploads = new Map<string, Upload>()
  let knowsConditions = true
  let ids = 0

  function perform(request: S3Request): Done {
    const { method, key, query } = request
    if (key === '') return query.has('versioning') ? xml('<VersioningConfiguration/>') : list(query)
    const uploadId = query.get('uploadId')
    if (method === 'POST') return uploadId === null ? start(key) : complete(request, uploadId)
    if (uploadId !== null) return method === 'PUT' ? part(request, uploadId) : abort(uploadId)
    if (method === 'PUT') return put(request)
    if (method === 'DELETE') {
      objects.delete(key)
      return { status: 204, headers: {}, content: NOTHING }
    }
    return get(request)
  }

  function refusal(request: S3Request): Done | undefined {
    if (request.headers['if-none-match'] === undefined) return undefined
    if (!knowsConditions) return failed(501, 'NotImplemented')
    return objects.has(request.key) ? failed(412, 'PreconditionFailed') : undefined
  }

  function put(request: S3Request): Done {
    const refused = refusal(request)
    if (refused) return refused
    const etag = `"${createHash('md5').update(request.body).digest('hex')}"`
    objects.set(request.key, { bytes: request.body, time: now(), etag })
    return { status: 200, headers: { etag }, content: NOTHING }
  }

  function get({ key, headers }: S3Request): Done {
    const found = objects.get(key)
    if (!found) return failed(404, 'NoSuchKey')
    const facts = { etag: found.etag, 'last-modified': new Date(found.time).toUTCString() }
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0)
    if (from > 0 && from >= found.bytes.length) return failed(416, 'InvalidRange')
    return { status: headers.range ? 206 : 200, headers: facts, content: found.bytes.subarray(from) }
  }

  function start(key: string): Done {
    const uploadId = `upload+${++ids}/=`
    uploads.set(uploadId, { key, time: now(), parts: new Map() })
    return xml(`<InitiateMultipartUploadResult><UploadId>${uploadId}</UploadId></InitiateMultipartUploadResult>`)
  }

  function part({ query, body }: S3Request, uploadId: string): Done {
    const upload = uploads.get(uploadId)
    if (!upload) return failed(404, 'NoSuchUpload')
    upload.parts.set(Number(query.get('partNumber')), body)
    return { status: 200, headers: { etag: `"${createHash('md5').update(body).digest('hex')}"` }, content: NOTHING }
  }

  function complete(request: S3Request, uploadId: string): Done {
    const upload = uploads.get(uploadId)
    if (!upload) return failed(404, 'NoSuchUpload')
    const wanted = [...request.body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"(\w+)"<\/ETag>/g)]
    const parts = wanted.map(([, number, etag]) => {
      const bytes = upload.parts.get(Number(number))
      return bytes && createHash('md5').update(bytes).digest('hex') === etag ? bytes : undefined
    })
    if (parts.length === 0 || parts.includes(undefined)) return failed(400, 'InvalidPart')
    if (parts.slice(0, -1).some((bytes) => (bytes?.length ?? 0) < 5 * 1024 * 1024)) return failed(400, 'EntityTooSmall')
    const refused = refusal(request)
    if (refused) return refused
    uploads.delete(uploadId)
    const bytes = Buffer.concat(parts as Buffer[])
    objects.set(upload.key, { bytes, time: now(), etag: `"${uploadId.length}-${parts.length}"` })
    return xml('<CompleteMultipartUploadResult></CompleteMultipartUploadResult>')
  }

  function abort(uploadId: string): Done {
    return uploads.delete(uploadId) ? { status: 204, headers: {}, content: NOTHING } : failed(404, 'NoSuchUpload')
  }

  function list(query: URLSearchParams): Done {
    const under = query.get('prefix') ?? ''
    const isUploads = query.has('uploads')
    const all = isUploads
      ? [...uploads].map(([id, { key, time }]) => ({ key, id, time }))
      : [...objects].map(([key, { time }]) => ({ key, id: '', time }))
    const sorted = all.filter(({ key }) => key.startsWith(under)).toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
    const after = isUploads
      ? `${query.get('key-marker') ?? ''}\n${query.get('upload-id-marker') ?? ''}`
      : `${(query.get('continuation-token') ?? '').replace('&after=', '')}\n`
    const rest = sorted.filter((one) => after === '\n' || orderOf(one) > after)
    const page = rest.slice(0, pageSize)
    const last = page.at(-1)
    const rows = page.map(({ key, id, time }) =>
      isUploads
        ? `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${iso(time)}</Initiated></Upload>`
        : `<Contents><Key>${key}</Key><LastModified>${iso(time)}</LastModified></Contents>`,
    )
    const more = isUploads
      ? `<NextKeyMarker>${last?.key}</NextKeyMarker><NextUploadIdMarker>${last?.id}</NextUploadIdMarker>`
      : `<NextContinuationToken>&amp;after=${last?.key}</NextContinuationToken>`
    const isTruncated = rest.length > page.length
    return xml(`<List><IsTruncated>${isTruncated}</IsTruncated>${isTruncated ? more : ''}${rows.join('')}</List>`)
  }

  return {
    objects,
    uploads,
    perform,
    forgetConditions() {
      knowsConditions = false
    },
  }
}

export type Done = { status: number; headers: Record<string, string>; content: Buffer }

const NOTHING = Buffer.alloc(0)
const iso = (time: number): string => new Date(time).toISOString()
const orderOf = ({ key, id }: { key: string; id: string }): string => `${key}\n${id}`
const xml = (text: string): Done => ({
  status: 200,
  headers: { 'content-type': 'application/xml' },
  content: Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`),
})
export const failed = (status: number, code: string): Done => ({
  ...xml(`<Error><Code>${code}</Code></Error>`),
  status,
})
