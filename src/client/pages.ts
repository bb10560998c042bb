/** Lists page by page. Their number and their length are limited, whatever a server answers. */
import { noAnswer, notAHeadland } from './errors.ts'
import type { Query } from './route-types.ts'

/** Of a request for one page: its JSON, and the length of that. */
export type ReadPage = (query: Query) => Promise<{ answer: Record<string, unknown>; length: number }>

const MAX_LIST_LENGTH = 128 * 1024 * 1024
const MAX_PAGES = 1000
/** Of the first ones of a list, pages beyond those that full ones would take. */
const MAX_SHORT_PAGES = 20
/** What a service gives at most. */
const MAX_PAGE_SIZE = 200

type List = { url: string; field: string; read: ReadPage; query?: Query }

/** `next` is called before each page. */
async function* pagesOf<T>({ url, field, read }: List, next: () => Query) {
  let length = 0
  let pageToken: string | undefined
  for (let pages = 0; pages < MAX_PAGES && length < MAX_LIST_LENGTH; pages++) {
    const page = await read({ ...next(), ...(pageToken === undefined ? {} : { pageToken }) })
    length += page.length
    const { [field]: items = [], nextPageToken: token = '' } = page.answer
    if (!Array.isArray(items) || typeof token !== 'string') throw notAHeadland(url)
    pageToken = token
    yield { items: items as T[], isLast: token === '' }
    if (token === '') return
  }
  throw noAnswer(`The list of ${field} at ${url} has no end.`)
}

/** All of them. No page size is sent unless given: not every list has pages, and the API refuses unknown parameters. */
export async function* itemsOf<T>(list: List): AsyncGenerator<T> {
  for await (const { items } of pagesOf<T>(list, () => list.query ?? {})) yield* items
}

/** The first ones of a list that may be long, and whether there are more. */
export async function firstOf<T>(list: List, limit: number): Promise<{ items: T[]; hasMore: boolean }> {
  const found: T[] = []
  const query = () => ({ ...list.query, pageSize: Math.min(limit - found.length, MAX_PAGE_SIZE) })
  // A service may return smaller pages than requested, but their number is limited.
  let pagesLeft = MAX_SHORT_PAGES + Math.ceil(limit / MAX_PAGE_SIZE)
  for await (const { items, isLast } of pagesOf<T>(list, query)) {
    found.push(...items.slice(0, limit - found.length))
    pagesLeft -= 1
    if (found.length === limit || isLast || pagesLeft === 0) return { items: found, hasMore: !isLast }
  }
  return { items: found, hasMore: false }
}
