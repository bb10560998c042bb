/**
 * Pages of a list, by key and never by offset: the ids are in time order, so "after this id" costs the same on page 1
 * and on page 10,000. The token is opaque to callers and contains its order, and the scope of the list if it has one.
 */
import { createHash } from 'node:crypto'
import { LIMITS, Problem } from '../../contract/index.ts'
import { type Statement, statement } from './sql.ts'

export type Order = 'newest' | 'oldest'

export type Page = {
  size: number
  direction: Order
  scope: string
  /** Whether it follows another page. */
  isResumed: boolean
  /** A condition on the column `id`. */
  after: Statement
  /** ORDER BY and LIMIT: one row more than the page, to know whether there is a next one. */
  order: Statement
}

export type PageOf<T> = { items: T[]; nextPageToken: string }

export type PageRequest = { pageSize?: number; pageToken?: string; order?: Order }

/**
 * `scope` is what the list depends on, such as an account and a filter: a token is valid only for the scope that it was
 * made for.
 */
export function toPage({ pageSize, pageToken, order = 'newest' }: PageRequest, scope = ''): Page {
  const size = Math.min(pageSize || LIMITS.pageSizeDefault, LIMITS.maxPageSize)
  const last = pageToken ? decode(pageToken, order, scope) : undefined
  return order === 'newest'
    ? {
        size,
        direction: order,
        scope,
        isResumed: last !== undefined,
        after: last ? statement`id < ${last}` : statement`id IS NOT NULL`,
        order: statement`ORDER BY id DESC LIMIT ${size + 1}`,
      }
    : {
        size,
        direction: order,
        scope,
        isResumed: last !== undefined,
        after: last ? statement`id > ${last}` : statement`id IS NOT NULL`,
        order: statement`ORDER BY id ASC LIMIT ${size + 1}`,
      }
}

export function pageOf<T extends { id: string }>(rows: T[], { size, direction, scope }: Page): PageOf<T> {
  const items = rows.slice(0, size)
  const last = items.at(-1)
  return { items, nextPageToken: rows.length > size && last ? encode(last.id, direction, scope) : '' }
}

/** A page that ends early if its items are large; it has at least one item. */
export function pageWithin<T extends { id: string; bytes: number }>(
  rows: T[],
  page: Page,
  maxBytes: number,
): PageOf<T> {
  let bytes = 0
  const end = rows.slice(0, page.size).findIndex((row, index) => {
    bytes += row.bytes
    return index > 0 && bytes > maxBytes
  })
  return pageOf(rows, end === -1 ? page : { ...page, size: end })
}

const encode = (id: string, order: Order, scope: string): string =>
  Buffer.from([order, id, ...markOf(scope)].join(' ')).toString('base64url')

function decode(token: string, order: Order, scope: string): string {
  const [tokenOrder, id, ...mark] = Buffer.from(token, 'base64url').toString('utf8').split(' ')
  const isOfScope = mark.join(' ') === markOf(scope).join(' ')
  if (tokenOrder !== order || !id || !/^[0-9a-f-]{36}$/.test(id) || !isOfScope) {
    throw new Problem('PAGE_TOKEN_INVALID', undefined, {
      fields: [
        { field: 'pageToken', description: 'must be the nextPageToken of this list with the same orderBy and filter' },
      ],
    })
  }
  return id
}

/**
 * Empty if the list has no scope. It only distinguishes scopes and is no protection: rows are always selected by
 * account.
 */
const markOf = (scope: string): string[] =>
  scope === '' ? [] : [createHash('sha256').update(scope).digest('base64url').slice(0, 16)]
