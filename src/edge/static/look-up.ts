/** Decides what a request path means in a static deployment, by its manifest alone. */
import type { SiteSettings, StaticFile } from './types.ts'

/** A site whose files are looked up one by one. */
export type Site = SiteSettings & {
  find(address: string): StaticFile | undefined | Promise<StaticFile | undefined>
}

export type LookUpResult =
  /** The path is the one in the folder. */
  | { kind: 'file'; status: 200 | 404; path: string; file: StaticFile }
  | { kind: 'redirect'; status: 301 | 307; location: string }
  | { kind: 'missing' }
  | { kind: 'malformed' }

/**
 * URLs have no extension: /about is about.html or about/index.html. The two differ in what a relative link means: a
 * page in a folder was written for /about/, and at /about its link to `logo.png` would lead to /logo.png. So each page
 * has the one URL that its links were written for, and the other one redirects to it, as Netlify and GitHub Pages do.
 * The files' own names, /about.html and /about/index.html, have the same base URL and are served as well.
 *
 * A site with a base path needs no further rules, because the manifest has its files by their full addresses. Outside
 * of the base path there is no site, and so no fallback page.
 */
export async function lookUp(site: Site, rawPath: string): Promise<LookUpResult> {
  const { singlePage, notFound, basePath } = site
  const path = decodePath(rawPath)
  if (path === undefined) return { kind: 'malformed' }

  const exact = await site.find(path)
  if (exact) return found(path, exact)

  if (path.endsWith('/')) {
    const index = await site.find(`${path}index.html`)
    if (index) return found(`${path}index.html`, index)
    const page = path.slice(0, -1)
    if (await site.find(`${page}.html`)) return { kind: 'redirect', status: 301, location: encode(page) }
  } else {
    const page = await site.find(`${path}.html`)
    if (page) return found(`${path}.html`, page)
    if (await site.find(`${path}/index.html`)) return { kind: 'redirect', status: 301, location: `${encode(path)}/` }
  }

  // The root of the host leads to the site. Temporarily, because the next deployment may have no base path.
  if (path === '/' && basePath !== '') return { kind: 'redirect', status: 307, location: `${encode(basePath)}/` }

  const hasExtension = path.includes('.', path.lastIndexOf('/'))
  const fallback = singlePage && !hasExtension && isUnder(basePath, path) ? await onlyPage(site) : notFound
  const file = fallback === null ? undefined : await site.find(fallback)
  if (fallback === null || !file) return { kind: 'missing' }
  return found(fallback, file, fallback === notFound ? 404 : 200)
}

const found = (address: string, file: StaticFile, status: 200 | 404 = 200): LookUpResult => ({
  kind: 'file',
  status,
  path: file.path ?? address,
  file,
})

/** Where some pages of a single-page site are files, several tools name the fallback page 200.html. */
const onlyPage = async ({ find, basePath }: Site): Promise<string> =>
  (await find(`${basePath}/200.html`)) ? `${basePath}/200.html` : `${basePath}/index.html`

/** A path with `..` may leave the base path. No browser sends one, so it is not resolved. */
const isUnder = (basePath: string, path: string): boolean =>
  basePath === '' || (path.startsWith(`${basePath}/`) && !path.includes('/../'))

/** Decoded once: a second time would turn %252e into a dot that was not checked. */
export function decodePath(rawPath: string): string | undefined {
  if (!rawPath.includes('%')) return rawPath
  try {
    return decodeURIComponent(rawPath)
  } catch {
    return undefined
  }
}

/** From the decoded path, so that a Location has no characters that a browser would interpret differently. */
const encode = (path: string): string => path.split('/').map(encodeURIComponent).join('/')
