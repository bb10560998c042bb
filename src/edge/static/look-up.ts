/** Decides what a request path means in a static deployment, by its manifest alone. */
import type { HeaderChanges } from '../rules/headers.ts'
import type { RuleAction, RuleMatcher } from '../rules/matcher.ts'
import { readPath } from '../rules/path.ts'
import type { SiteSettings, StaticFile } from './types.ts'

/** A site whose files are looked up one by one. */
export type Site = Omit<SiteSettings, 'rules'> & {
  rules?: RuleMatcher | undefined
  find(address: string): StaticFile | undefined | Promise<StaticFile | undefined>
}

/** A path as the client wrote it, and the text behind its `?`. */
export type Asked = { path: string; query?: string | undefined }

export type LookUpResult =
  | FoundFile
  /** `isByRule`: the site's author wrote it, for all methods. */
  | { kind: 'redirect'; status: number; location: string; isByRule?: true }
  /** Another host answers; the path has its query. */
  | { kind: 'proxy'; origin: string; path: string }
  | { kind: 'missing' }
  | { kind: 'malformed' }

export type FoundFile = {
  kind: 'file'
  status: number
  /** The one in the folder. */
  path: string
  file: StaticFile
  /** What rules change in the headers of the response. */
  headers?: HeaderChanges | undefined
  /** With another query the same path may have another answer. */
  readsQuery?: boolean
}

/**
 * URLs have no extension: /about is about.html or about/index.html. The two differ in what a relative link means: a
 * page in a folder was written for /about/, and at /about its link to `logo.png` would lead to /logo.png. So each page
 * has the one URL that its links were written for, and the other one redirects to it, as Netlify and GitHub Pages do.
 * The files' own names, /about.html and /about/index.html, have the same base URL and are served as well.
 *
 * A site with a base path needs no further rules, because the manifest has its files by their full addresses. Outside
 * of the base path there is no site, and so no fallback page.
 */
export async function lookUp(site: Site, asked: Asked): Promise<LookUpResult> {
  const path = decodePath(asked.path)
  if (path === undefined) return { kind: 'malformed' }
  if (site.rules) return lookUpByRules(site, site.rules, path, asked)
  return (await findPage(site, path, asked)) ?? fallBack(site, path, asked)
}

/**
 * A file takes precedence over a rule, unless the rule is forced. What a rule rewrites to is a file: no further rule
 * applies to it, so rewrites have no loops.
 */
async function lookUpByRules(site: Site, rules: RuleMatcher, path: string, asked: Asked): Promise<LookUpResult> {
  const requested = readPath(asked.path)
  // No rule can match the path.
  if (!requested) return (await findPage(site, path, asked)) ?? fallBack(site, path, asked)
  const moved = usualUrl(path, rules)
  if (moved !== undefined) return { ...redirect(308, moved, asked), isByRule: true }

  const first = rules.find(requested, asked.query)
  const page = first?.isForced ? undefined : await findPage(site, path, asked)
  const rule = first && page ? rules.find(requested, asked.query, { isForced: true }) : first
  const result = rule ? await act(site, rule.action) : (page ?? (await fallBack(site, path, asked)))
  if (result.kind !== 'file') return result
  return { ...result, headers: rules.headersFor(requested), readsQuery: rules.readsQuery(requested) }
}

async function act(site: Site, action: RuleAction): Promise<LookUpResult> {
  switch (action.kind) {
    case 'redirect':
      return { ...action, isByRule: true }
    case 'proxy':
      return action
    case 'refuse':
      return { kind: 'malformed' }
    case 'rewrite':
      return (await findAt(site, action.path, action.status)) ?? notFoundPage(site)
  }
}

/** The file at a path without redirects: visitors do not see the URL, so links are not resolved against it. */
async function findAt(site: Site, rawPath: string, status: number): Promise<LookUpResult | undefined> {
  const path = decodePath(rawPath)
  if (path === undefined) return undefined
  const base = path.endsWith('/') ? path.slice(0, -1) : path
  const names = path.endsWith('/')
    ? [`${path}index.html`, `${base}.html`]
    : [path, `${path}.html`, `${path}/index.html`]
  for (const name of names) {
    const file = await site.find(name)
    if (file) return found(name, file, status)
  }
  return undefined
}

async function findPage(site: Site, path: string, asked: Asked): Promise<LookUpResult | undefined> {
  const slash = site.rules?.trailingSlash
  const exact = await site.find(path)
  if (exact) return found(path, exact)

  if (path.endsWith('/')) {
    const index = await site.find(`${path}index.html`)
    if (index) return found(`${path}index.html`, index)
    const page = path.slice(0, -1)
    const file = await site.find(`${page}.html`)
    if (file) return slash === true ? found(`${page}.html`, file) : redirect(301, page, asked)
  } else {
    const page = await site.find(`${path}.html`)
    if (page) return found(`${path}.html`, page)
    const index = await site.find(`${path}/index.html`)
    if (index) return slash === false ? found(`${path}/index.html`, index) : redirect(301, `${path}/`, asked)
  }
  return undefined
}

async function fallBack(site: Site, path: string, asked: Asked): Promise<LookUpResult> {
  const { singlePage, basePath } = site
  // The root of the host leads to the site. Temporarily, because the next deployment may have no base path.
  if (path === '/' && basePath !== '') return redirect(307, `${basePath}/`, asked)

  const hasExtension = path.includes('.', path.lastIndexOf('/'))
  if (!singlePage || hasExtension || !isUnder(basePath, path)) return notFoundPage(site)
  const shell = await onlyPage(site)
  const file = await site.find(shell)
  return file ? found(shell, file) : { kind: 'missing' }
}

async function notFoundPage({ notFound, find }: Site): Promise<LookUpResult> {
  const file = notFound === null ? undefined : await find(notFound)
  return notFound === null || !file ? { kind: 'missing' } : found(notFound, file, 404)
}

const found = (address: string, file: StaticFile, status = 200): FoundFile => ({
  kind: 'file',
  status,
  path: file.path ?? address,
  file,
})

/** The path is decoded. */
function redirect(status: number, path: string, { query }: Asked): Extract<LookUpResult, { kind: 'redirect' }> {
  // A path that begins with two slashes would name another host.
  const location = encode(path).replace(/^\/+/, '/')
  return { kind: 'redirect', status, location: query === undefined ? location : `${location}?${query}` }
}

/**
 * The URL that a page has by the settings `cleanUrls` and `trailingSlash` of vercel.json; undefined where it is the
 * requested one.
 */
function usualUrl(path: string, { cleanUrls, trailingSlash }: RuleMatcher): string | undefined {
  const hasSlash = path.endsWith('/')
  const bare = hasSlash ? path.slice(0, -1) : path
  if (cleanUrls) {
    const name = bare.slice(bare.lastIndexOf('/') + 1)
    if (name === 'index' || name === 'index.html') {
      const folder = bare.slice(0, -name.length)
      return trailingSlash === false && folder !== '/' ? folder.slice(0, -1) : folder
    }
    if (bare.endsWith('.html')) return bare.slice(0, -'.html'.length) + (trailingSlash === true ? '/' : '')
  }
  if (trailingSlash === undefined || bare === '') return undefined
  if (!trailingSlash) return hasSlash ? bare : undefined
  if (bare === '/.well-known' || bare.startsWith('/.well-known/')) return undefined
  const hasExtension = bare.includes('.', bare.lastIndexOf('/'))
  if (hasExtension) return hasSlash ? bare : undefined
  return hasSlash ? undefined : `${bare}/`
}

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
