/**
 * What a page links on its own host, and what a sitemap names. Pure. The text is of an app that may be hostile: it is read once
 * from the beginning to the end, and only so many links are taken.
 */
import { isAskable } from './pages.ts'

export type Links = {
  /** Paths of other pages. */
  pages: string[]
  /** Paths of files that it loads. */
  assets: Asset[]
}

/** `isNeeded`: without it the page does not work, as without a script or a stylesheet. */
export type Asset = { path: string; isNeeded: boolean }

/** The address of the page, and the hosts that are its own. */
type Place = { path: string; hosts: ReadonlySet<string> }

const MAX_TAGS = 20_000
const MAX_TAG_LENGTH = 2000
/** Of the links and of the other tags that name files: reading them must not hold up the service. */
const MAX_READ = 1000
const MAX_ATTRIBUTES = 40
const MAX_PAGES = 500
const MAX_ASSETS = 60

export function linksIn(html: string, { path, hosts }: Place): Links {
  const pages = new Set<string>()
  const assets = new Map<string, boolean>()
  const [host = 'localhost'] = hosts
  let base = `http://${host}${path}`
  let hasBase = false
  const read = { links: 0, files: 0 }
  for (const { name, text } of tagsIn(html)) {
    const isPage = name === 'a'
    if (read[isPage ? 'links' : 'files']++ >= MAX_READ) continue
    const attributes = attributesIn(text)
    const value = attributes.get(isPage || name === 'link' || name === 'base' ? 'href' : 'src')
    if (value === undefined) continue
    if (name === 'base') {
      if (!hasBase && URL.canParse(value, base)) base = new URL(value, base).href
      hasBase = true
      continue
    }
    const own = ownPath(value, base, hosts)
    if (own === undefined) continue
    if (isPage) {
      if (pages.size < MAX_PAGES && isAskable(own) && !isNotForRobots(attributes)) pages.add(own)
    } else if (assets.size < MAX_ASSETS || assets.has(own)) {
      const kind = assetKind(name, attributes)
      if (kind !== undefined) assets.set(own, assets.get(own) === true || kind === 'NEEDED')
    }
  }
  return { pages: [...pages], assets: [...assets].map(([path, isNeeded]) => ({ path, isNeeded })) }
}

/** `text` is what is behind its name. */
type Tag = { name: string; text: string }
type Attributes = ReadonlyMap<string, string>

/** By custom, such a link may do more than show a page, as one that puts something into a cart. */
const isNotForRobots = (attributes: Attributes): boolean => /\bnofollow\b/i.test(attributes.get('rel') ?? '')

/** Preloads of what may be needed later and alternates are left out: they are no part of the page. */
function assetKind(name: string, attributes: Attributes): 'NEEDED' | 'SHOWN' | undefined {
  if (name === 'script') return 'NEEDED'
  if (name === 'img') return 'SHOWN'
  const rel = (attributes.get('rel') ?? '').toLowerCase().split(/\s+/)
  if (rel.includes('alternate')) return undefined
  if (rel.includes('stylesheet') || rel.includes('modulepreload')) return 'NEEDED'
  return rel.includes('icon') || rel.includes('manifest') ? 'SHOWN' : undefined
}

const NAMES: ReadonlySet<string> = new Set(['a', 'base', 'link', 'script', 'img'])

/**
 * From one `>` to the next, so that no character is looked at twice, whatever the text is. What is in comments and in scripts is
 * no tag.
 */
function* tagsIn(html: string): Generator<Tag> {
  const scriptEnd = /<\/script/gi
  let from = 0
  for (let count = 0; count < MAX_TAGS; count++) {
    const end = html.indexOf('>', from)
    if (end < 0) return
    const text = html.slice(Math.max(from, end - MAX_TAG_LENGTH), end)
    const comment = text.indexOf('<!--')
    from = comment < 0 ? end + 1 : after(html, '-->', end - text.length + comment)
    if (comment >= 0) continue
    const start = text.lastIndexOf('<')
    const name = start < 0 ? undefined : /^[a-z]+/i.exec(text.slice(start + 1, start + 10))?.[0].toLowerCase()
    if (name !== undefined && NAMES.has(name)) yield { name, text: text.slice(start + 1 + name.length) }
    if (name !== 'script') continue
    scriptEnd.lastIndex = from
    from = scriptEnd.exec(html)?.index ?? html.length
  }
}

/** Behind the next such text, or at the end. */
function after(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from)
  return found < 0 ? html.length : found + text.length
}

const SPACE = /\s/

function attributesIn(text: string): Map<string, string> {
  const found = new Map<string, string>()
  let at = 0
  for (let count = 0; count < MAX_ATTRIBUTES; count++) {
    const equals = text.indexOf('=', at)
    if (equals < 0) return found
    const name = text.slice(at, equals).trim().split(SPACE).at(-1)?.toLowerCase() ?? ''
    let start = equals + 1
    while (start < text.length && SPACE.test(text[start] as string)) start++
    const quote = text[start]
    const isQuoted = quote === '"' || quote === "'"
    const end = isQuoted ? text.indexOf(quote, start + 1) : endOfWord(text, start)
    if (end < 0) return found
    if (name !== '' && !found.has(name)) found.set(name, text.slice(isQuoted ? start + 1 : start, end))
    at = isQuoted ? end + 1 : end
  }
  return found
}

function endOfWord(text: string, start: number): number {
  let end = start
  while (end < text.length && !SPACE.test(text[end] as string)) end++
  return end
}

/** Undefined for another host, for `data:` and the like, and for what is no address. */
function ownPath(value: string, base: string, hosts: ReadonlySet<string>): string | undefined {
  const text = value.trim().replaceAll('&amp;', '&')
  if (text === '' || text.startsWith('#')) return undefined
  try {
    const url = new URL(text, base)
    const isOwn = (url.protocol === 'http:' || url.protocol === 'https:') && hosts.has(url.host)
    return isOwn ? url.pathname + url.search : undefined
  } catch {
    return undefined
  }
}

const MAX_LOCATIONS = 1000

/**
 * The paths of a sitemap, and of further sitemaps that it names. A sitemap may name the site by another host, as it will be
 * found later: then only the paths are taken, if all are of that one host.
 */
export function sitemapIn(xml: string, hosts: ReadonlySet<string>): { pages: string[]; sitemaps: string[] } {
  const urls: URL[] = []
  for (let at = xml.indexOf('<loc>'); at >= 0 && urls.length < MAX_LOCATIONS; at = xml.indexOf('<loc>', at + 1)) {
    const end = xml.indexOf('<', at + 5)
    const text = end < 0 ? '' : xml.slice(at + 5, Math.min(end, at + MAX_TAG_LENGTH)).trim()
    if (URL.canParse(text)) urls.push(new URL(text.replaceAll('&amp;', '&')))
  }
  const isOfOne = new Set(urls.map(({ host }) => host)).size === 1
  const own = urls.filter(({ host, protocol }) => /^https?:$/.test(protocol) && (isOfOne || hosts.has(host)))
  const isIndex = xml.includes('<sitemapindex')
  const paths = [...new Set(own.map(({ pathname, search }) => pathname + search))]
  return isIndex ? { pages: [], sitemaps: paths } : { pages: paths.filter(isAskable), sitemaps: [] }
}
