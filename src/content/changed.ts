/**
 * Content that changed in a CMS: items, or everything where it is not known what changed. Which tags of pages are purged for
 * it, and how it is named to people. Pure.
 */
import { LIMITS } from '../contract/index.ts'

export const SYSTEMS = ['wp', 'contentful', 'sanity', 'strapi'] as const
export type System = (typeof SYSTEMS)[number]

/** Objects of WordPress have numbers of their own in each of these kinds. */
export const WP_KINDS = ['post', 'term', 'user', 'media'] as const
export type WpKind = (typeof WP_KINDS)[number]

/** `type` is its content type, where that is known: lists of this type may have it now, or have it no more. */
export type ChangedItem =
  | { system: 'wp'; kind: WpKind; id: string; type?: string }
  | { system: Exclude<System, 'wp'>; id: string; type?: string }

export type Changed = 'everything' | readonly ChangedItem[]

/** All of it, each item once. More than a purge may name becomes everything. */
export function united(changes: readonly Changed[]): Changed {
  const items = new Map<string, ChangedItem>()
  for (const changed of changes) {
    if (changed === 'everything') return changed
    for (const item of changed) items.set(JSON.stringify(nameOf(item)), item)
  }
  return items.size === 0 || items.size > LIMITS.contentItems ? 'everything' : [...items.values()]
}

const nameOf = (item: ChangedItem) => [item.system, item.system === 'wp' ? item.kind : '', item.id, item.type ?? '']

/**
 * The tags of responses that may show the items. Beside the items themselves: lists that may contain them, and what was
 * made of sources without ids.
 */
export function purgeTagsOf(items: readonly ChangedItem[]): string[] {
  const tags = new Set(['all', 'u'])
  for (const item of items) {
    for (const name of itemTagsOf(item)) tags.add(`i:${name}`)
    for (const name of listTagsOf(item)) tags.add(`c:${name}`)
  }
  return [...tags].map((tag) => `content:${tag}`)
}

/** A file of WordPress's library is a post as well, and pages may know it as either. */
function itemTagsOf(item: ChangedItem): string[] {
  if (item.system !== 'wp') return [`${item.system}:${item.id}`]
  const kinds: WpKind[] = item.kind === 'media' || item.kind === 'post' ? ['post', 'media'] : [item.kind]
  return kinds.map((kind) => `wp:${kind}:${item.id}`)
}

/**
 * An entry or a post is in lists of its own type, and in those whose type is not known. What others refer to, as a category
 * or an author, decides also about lists of other types. `c:wp` without a type stands for all lists of the system.
 */
function listTagsOf(item: ChangedItem): string[] {
  const { system, type } = item
  const isOfOneType = item.system === 'wp' ? item.kind === 'post' : system === 'contentful'
  return isOfOneType && type !== undefined ? [`${system}:${type}`, `${system}:*`] : [system]
}

const SYSTEM_NAMES: Record<System, string> = {
  wp: 'WordPress',
  contentful: 'Contentful',
  sanity: 'Sanity',
  strapi: 'Strapi',
}

/** As in `WordPress page 12` or `Contentful article 5KsDBWseXY6Qegucm6KJ5V`. */
export const inWords = (items: readonly ChangedItem[]): string[] =>
  items.map((item) => {
    const kind = item.type ?? (item.system === 'wp' ? item.kind : 'item')
    return `${SYSTEM_NAMES[item.system]} ${kind} ${item.id}`
  })
