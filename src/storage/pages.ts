/**
 * Pages of a list, by key and never by offset: the ids are in time order, so "after this id" costs the same on page 1
 * and on page 10,000. The token is opaque to callers and tells the order it belongs to.
 */
import { LIMITS, Problem } from '../contract/index.ts'
import { type Statement, statement } from './sql.ts'

export type Order = 'newest' | 'oldest'

export type Page = {
  size: number
  direction: Order
  /** Whether it follows another page. */
  isResumed: boolean
  /** A condition on the column `id`. */
  after: Statement
  /** ORDER BY and LIMIT: one row more than the page, to know whether there is a next one. */
  order: Statement
}

export type PageOf<T> = { items: T[]; nextPageToken: string }

export type PageRequest = { pageSize?: number; pageToken?: string; order?: Order }

export function toPage({ pageSize, pageToken, order = 'newest' }: PageRequest): Page {
  const size = Math.min(pageSize || LIMITS.pageSizeDefault, LIMITS.pageSizeMost)
  const last = pageToken ? decode(pageToken, order) : undefined
  return order === 'newest'
    ? {
        size,
        direction: order,
        isResumed: last !== undefined,
        after: last ? statement`id < ${last}` : statement`id IS NOT NULL`,
        order: statement`ORDER BY id DESC LIMIT ${size + 1}`,
      }
    : {
        size,
        direction: order,
        isResumed: last !== undefined,
        after: last ? statement`id > ${last}` : statement`id IS NOT NULL`,
        order: statement`ORDER BY id ASC LIMIT ${size + 1}`,
      }
}

export function pageOf<T extends { id: string }>(rows: T[], { size, direction }: Page): PageOf<T> {
  const items = rows.slice(0, size)
  const last = items.at(-1)
  return { items, nextPageToken: rows.length > size && last ? encode(last.id, direction) : '' }
}

/** A page that ends early where its items are large; there is always one on it. */
export function pageWithin<T extends { id: string; bytes: number }>(
  rows: T[],
  page: Page,
  bytesMost: number,
): PageOf<T> {
  let bytes = 0
  const end = rows.slice(0, page.size).findIndex((row, index) => {
    bytes += row.bytes
    return index > 0 && bytes > bytesMost
  })
  return pageOf(rows, end === -1 ? page : { ...page, size: end })
}

const encode = (id: string, order: Order): string => Buffer.from(`${order} ${id}`).toString('base64url')

function decode(token: string, order: Order): string {
  const [tokenOrder, id, ...rest] = Buffer.from(token, 'base64url').toString('utf8').split(' ')
  if (tokenOrder !== order || !id || !/^[0-9a-f-]{36}$/.test(id) || rest.length > 0) {
    throw new Problem('PAGE_TOKEN_INVALID', undefined, {
      fields: [{ field: 'pageToken', description: 'must be the nextPageToken of this list with the same orderBy' }],
    })
  }
  return id
}
