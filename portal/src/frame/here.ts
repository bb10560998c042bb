/** Which link of a list one is at: the page itself, or one that lies below it. */

/** `page` for the page itself, `true` for a page below it, nothing elsewhere: what `aria-current` has. */
export function currentOf(location: string, href: string, below: readonly string[] = []): 'page' | 'true' | undefined {
  if (location === href) return 'page'
  return location.startsWith(`${href}/`) || below.includes(location) ? 'true' : undefined
}
