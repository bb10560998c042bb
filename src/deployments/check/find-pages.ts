/** Finds the pages of a site that has no visitors yet: those of its sitemap, and those that its first page links. */
import type { Ask, AskOptions } from './answer.ts'
import { linksIn, sitemapIn } from './links.ts'
import type { Site } from './versions.ts'

/** Of the sitemaps that a sitemap names. */
const MAX_SITEMAPS = 3

export async function findPages(ask: Ask, { hosts }: Site, options: AskOptions): Promise<string[]> {
  const first = await ask('/', options)
  // A site under a base path redirects there.
  const moved = first?.location?.startsWith('/') ? await ask(first.location, options) : undefined
  const path = moved ? (first?.location as string) : '/'
  const { text } = moved ?? first ?? {}
  const linked = text === undefined ? [] : linksIn(text, { path, hosts }).pages
  return ['/', ...(moved ? [path] : []), ...(await inSitemap(ask, hosts, options)), ...linked]
}

async function inSitemap(ask: Ask, hosts: ReadonlySet<string>, options: AskOptions): Promise<string[]> {
  const { pages, sitemaps } = sitemapIn(await textOf(ask, '/sitemap.xml', options), hosts)
  for (const path of sitemaps.slice(0, MAX_SITEMAPS))
    pages.push(...sitemapIn(await textOf(ask, path, options), hosts).pages)
  return pages
}

async function textOf(ask: Ask, path: string, options: AskOptions): Promise<string> {
  const found = await ask(path, { ...options, keepsText: true })
  return found?.status === 200 ? (found.text ?? '') : ''
}
