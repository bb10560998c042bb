/** Decides what a request path means in a static deployment. No file is looked for: the manifest knows every one. */
import type { StaticFile } from './manifest.ts'
import type { SiteSettings } from './manifest-file.ts'

/** A site whose files are asked for one by one. */
export type Site = SiteSettings & {
  find(address: string): StaticFile | undefined | Promise<StaticFile | undefined>
}

export type Found =
  /** The path is the one in the folder. */
  | { kind: 'file'; status: 200 | 404; path: string; file: StaticFile }
  | { kind: 'redirect'; status: 301 | 307; location: string }
  | { kind: 'missing' }
  | { kind: 'malformed' }

/**
 * Addresses are clean: /about is about.html or about/index.html. The two differ in what a relative link means: a page in
 * a folder was written for /about/, and served at /about its `logo.png` would be sought at /logo.png. So each page has
 * the one address that its links were written for, and the other form is sent there, as Netlify and GitHub Pages do.
 * The files' own names, /about.html and /about/index.html, have the same base as their clean form and are served as well.
 *
 * A site with a base path needs no rules of its own for its files: the manifest has them by their addresses. Outside of
 * the base path there is no site, and so no page of it to fall back on.
 */
export async function lookUp(site: Site, rawPath: string): Promise<Found> {
  const { singlePage, notFound, basePath } = site
  const path = decode(rawPath)
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

  // Whoever opens the host's address wants to see the site. Only for now: the next deployment may be at the top.
  if (path === '/' && basePath !== '') return { kind: 'redirect', status: 307, location: `${encode(basePath)}/` }

  const hasExtension = path.includes('.', path.lastIndexOf('/'))
  const fallback = singlePage && !hasExtension && isUnder(basePath, path) ? await onlyPage(site) : notFound
  const file = fallback === null ? undefined : await site.find(fallback)
  if (fallback === null || !file) return { kind: 'missing' }
  return found(fallback, file, fallback === notFound ? 404 : 200)
}

const found = (address: string, file: StaticFile, status: 200 | 404 = 200): Found => ({
  kind: 'file',
  status,
  path: file.path ?? address,
  file,
})

/** Where some of its pages are files, the one for all the others has a name of its own, by a custom of several tools. */
const onlyPage = async ({ find, basePath }: Site): Promise<string> =>
  (await find(`${basePath}/200.html`)) ? `${basePath}/200.html` : `${basePath}/index.html`

/** A path with two dots may lead out again. No browser sends one, so what it means is not worked out. */
const isUnder = (basePath: string, path: string): boolean =>
  basePath === '' || (path.startsWith(`${basePath}/`) && !path.includes('/../'))

/** Decoded once: a second time would make %252e into a dot that nobody has looked at. */
function decode(rawPath: string): string | undefined {
  if (!rawPath.includes('%')) return rawPath
  try {
    return decodeURIComponent(rawPath)
  } catch {
    return undefined
  }
}

/** From the decoded path, so that a location holds nothing that a browser would read otherwise. */
const encode = (path: string): string => path.split('/').map(encodeURIComponent).join('/')
