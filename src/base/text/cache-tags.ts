/** Cache tags in words. Next.js makes tags of paths and layouts, with a prefix that means nothing to people. */

const OF_NEXT = '_N_T_'
export const WHOLE_SITE = 'the whole site'

/** `posts` as `tag posts`; `_N_T_/blog` as `/blog`; `_N_T_/blog/layout` as `all pages under /blog`; `_N_T_/layout` as all. */
export function tagInWords(tag: string): string {
  if (!tag.startsWith(`${OF_NEXT}/`)) return `tag ${tag}`
  // Folders in parentheses group files, and are not part of an address.
  const steps = tag.slice(OF_NEXT.length).split('/').slice(1)
  const kind = steps.at(-1)
  const path = pathOf(kind === 'layout' || kind === 'page' ? steps.slice(0, -1) : steps)
  if (kind !== 'layout') return path
  return path === '/' ? WHOLE_SITE : `all pages under ${path}`
}

function pathOf(steps: readonly string[]): string {
  const shown = steps.filter((step) => !/^\(.*\)$/.test(step)).join('/')
  return shown === '' || shown === 'index' ? '/' : `/${shown}`
}

/** The targets of a purge, each once; undefined if everything was purged. */
export function purgedInWords(paths: readonly string[], tags: readonly string[]): string[] {
  const words = [...new Set([...paths, ...tags.map(tagInWords)])]
  return words.includes(WHOLE_SITE) ? [] : words
}
