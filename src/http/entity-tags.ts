/**
 * Entity tags as clients send them (RFC 9110, sections 8.8.3 and 13.1.1). Only the part between the quotes counts: a
 * proxy that compresses makes a strong tag weak, so `W/` does not say which version is meant.
 */

/** Any existing version, or one of these. */
export type EntityTags = '*' | readonly string[]

const ONE = /^(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/
const NEXT = /[ \t]*(?:(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y

/** One tag; undefined if it is malformed. */
export const readEntityTag = (text: string): string | undefined => ONE.exec(text)?.[1]

/** The value of `If-Match`; undefined if it is malformed or names no version. */
export function readEntityTags(text: string): EntityTags | undefined {
  if (/^[ \t]*\*[ \t]*$/.test(text)) return '*'
  const tags: string[] = []
  for (let at = 0; at < text.length; at = NEXT.lastIndex) {
    NEXT.lastIndex = at
    const found = NEXT.exec(text)
    if (!found) return undefined
    // Empty elements between commas are allowed and ignored (RFC 9110, section 5.6.1).
    if (found[1] !== undefined) tags.push(found[1])
  }
  return tags.length > 0 ? tags : undefined
}

/** Whether a client has this version already, by the value of `If-None-Match`. */
export function hasEntityTag(text: string | undefined, tag: string): boolean {
  const known = text === undefined ? undefined : readEntityTags(text)
  return known === '*' || (known?.includes(readEntityTag(tag) ?? '') ?? false)
}
