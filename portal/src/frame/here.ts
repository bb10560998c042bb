/** Which link of a list is the current one: the page itself, or a page below it. */

/** `page` for the page itself, `true` for a page below it, undefined elsewhere: the values of `aria-current`. */
export function currentOf(location: string, href: string, below: readonly string[] = []): 'page' | 'true' | undefined {
  if (location === href) return 'page'
  return location.startsWith(`${href}/`) || below.includes(location) ? 'true' : undefined
}
