/**
 * Entity tags as callers write them (RFC 9110, sections 8.8.3 and 13.1.1). What is read is the part between the quotes: a
 * proxy that compresses makes a strong tag a weak one, so `W/` tells nothing about which version is meant.
 */

/** Any version that there is, or one of these. */
export type EntityTags = '*' | readonly string[]

const ONE = /^(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/
const NEXT = /[ \t]*(?:(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y

/** One tag; nothing where it is not written as one. */
export const readEntityTag = (text: string): string | undefined => ONE.exec(text)?.[1]

/** What `If-Match` says; nothing where it is not written as it must be, or names no version. */
export function readEntityTags(text: string): EntityTags | undefined {
  if (/^[ \t]*\*[ \t]*$/.test(text)) return '*'
  const tags: string[] = []
  for (let at = 0; at < text.length; at = NEXT.lastIndex) {
    NEXT.lastIndex = at
    const found = NEXT.exec(text)
    if (!found) return undefined
    // Nothing between two commas is allowed, and means nothing (RFC 9110, section 5.6.1).
    if (found[1] !== undefined) tags.push(found[1])
  }
  return tags.length > 0 ? tags : undefined
}
