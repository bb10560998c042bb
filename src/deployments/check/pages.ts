/** Which pages are asked for. Pure. */

const MAX_LENGTH = 200
/** What a request line can have, without what names another host. */
const PLAIN = /^\/(?!\/)[\x21-\x7e]*$/
/** Masks of recorded paths: what they stand for is not known. */
const MASKED = /\{(?:email|id|token)\}/
/** What is below may do more than show a page, and is often asked for with other methods than GET. */
const API = /^\/api(?:\/|$)/
/** An extension; pages have none, or one of these. */
const EXTENSION = /\.([a-z0-9]{1,12})$/i
const PAGE_EXTENSIONS: ReadonlySet<string> = new Set(['html', 'htm', 'xhtml', 'php', 'xml', 'txt', 'rss', 'atom'])

/** Whether a path can be asked for, and is one of a page and not of a file that pages load. */
export function isAskable(path: string): boolean {
  if (path.length > MAX_LENGTH || !PLAIN.test(path) || MASKED.test(path)) return false
  const [bare = ''] = path.split('?')
  if (bare.startsWith('/_') || bare.startsWith('/cdn-cgi/') || API.test(bare)) return false
  const extension = EXTENSION.exec(bare.slice(bare.lastIndexOf('/') + 1))?.[1]
  return extension === undefined || PAGE_EXTENSIONS.has(extension.toLowerCase())
}

/** In their order, each once. The first page is always among them. */
export function choosePages(paths: readonly string[], max: number): string[] {
  const chosen = [...new Set(paths.filter(isAskable))].slice(0, max)
  return chosen.includes('/') ? chosen : ['/', ...chosen].slice(0, max)
}
