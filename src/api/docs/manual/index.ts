/**
 * The documentation at `/docs/`: the Markdown of `docs/` as HTML pages, made at the first request. `/docs` itself is
 * the API reference. Pages have no script, load nothing from other hosts and show nothing of a request except the words
 * of a search, as text.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { withoutTrailingSlashes } from '../../../base/index.ts'
import type { PortalFile } from '../../../portal/index.ts'
import { sendFile } from '../../send-file.ts'
import { blocksOf } from './blocks.ts'
import { frame, home, notFound, results, sectionPage } from './layout.ts'
import { MAX_QUERY_LENGTH, type Part, search } from './match.ts'
import { BASE, type ManualPage, type ManualPages, readPages, resolverFor } from './pages.ts'
import { render } from './render.ts'
import { partsOf } from './search.ts'
import { STYLE } from './style.ts'

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

const HTML = 'text/html; charset=utf-8'

/** Pages of the portal for an account named `docs`. */
const OF_AN_ACCOUNT = /^\/docs\/(?:apps|new-app|users|api-access|usage)(?:\/|$)/

export type Manual = ReturnType<typeof createManual>

export function createManual(top?: string) {
  let pages: Promise<ManualPages> | undefined
  let parts: Promise<Part[]> | undefined
  const files = new Map<string, PortalFile>()

  const read = (): Promise<ManualPages> => {
    pages ??= readPages(top)
    return pages
  }

  /** The page at an address, rendered once. */
  async function fileAt(address: string): Promise<PortalFile | undefined> {
    const made = files.get(address) ?? (await make(address))
    if (made) files.set(address, made)
    return made
  }

  async function make(address: string): Promise<PortalFile | undefined> {
    const all = await read()
    if (address === `${BASE}/`) return fileOf(HTML, home(all))
    if (address === `${BASE}/style.css`) return fileOf('text/css; charset=utf-8', STYLE)
    const page = all.pages.get(address)
    if (page) return fileOf(HTML, written(all, page))
    const section = all.sections.find((each) => each.address === address)
    if (section) return fileOf(HTML, sectionPage(all, section))
    const picture = all.pictures.get(address)
    return picture && fileOf(`image/${address.split('.').at(-1)}`, await readFile(picture.file))
  }

  async function answerSearch(request: FastifyRequest, reply: FastifyReply) {
    const all = await read()
    const { q } = request.query as { q?: unknown }
    const query = typeof q === 'string' ? q.slice(0, MAX_QUERY_LENGTH) : ''
    parts ??= partsOf(all.pages.values())
    const found = search(await parts, query)
    return reply
      .headers(HEADERS)
      .type(HTML)
      .send(results(all, query, found))
  }

  return {
    /** `otherwise` answers requests for pages of the portal. */
    register(app: FastifyInstance, otherwise: (request: FastifyRequest, reply: FastifyReply) => unknown) {
      app.get(`${BASE}/*`, async (request, reply) => {
        const path = request.url.split('?', 1)[0] ?? ''
        if (path === `${BASE}/search`) return answerSearch(request, reply)
        const file = await fileAt(path)
        if (file) return sendFile(request, reply, file, HEADERS)
        if (OF_AN_ACCOUNT.test(path)) return otherwise(request, reply)
        const other = withoutTrailingSlashes(path.replace(/(?:\/README)?\.md$/, ''))
        if (other !== path && (await fileAt(other))) return reply.redirect(other, 308)
        return reply
          .code(404)
          .headers(HEADERS)
          .type(HTML)
          .send(notFound(await read()))
      })
    },
  }
}

function written(all: ManualPages, { address, file, title, text }: ManualPage): string {
  const { body, headings } = render(blocksOf(text), resolverFor(all, file))
  return frame(all, { title, body, headings, at: address })
}

function fileOf(type: string, content: string | Buffer): PortalFile {
  const identity = Buffer.from(content)
  const digest = createHash('sha256').update(identity).digest('base64url').slice(0, 22)
  const forms = type.startsWith('text/') ? { identity, gzip: gzipSync(identity) } : { identity }
  return { type, isImmutable: false, digest, forms }
}
