/** Decides what a request path means in a static deployment. Nothing is read: the manifest knows every file. */
import type { StaticFile } from './manifest.ts'
import type { LoadedManifest } from './manifests.ts'

export type Found =
  | { kind: 'file'; status: 200 | 404; path: string; file: StaticFile }
  | { kind: 'redirect'; location: string }
  | { kind: 'missing' }
  | { kind: 'malformed' }

/**
 * Addresses are clean: /about is about.html or about/index.html. The two differ in what a relative link means: a page in
 * a folder was written for /about/, and served at /about its `logo.png` would be sought at /logo.png. So each page has
 * the one address that its links were written for, and the other form is sent there, as Netlify and GitHub Pages do.
 * The files' own names, /about.html and /about/index.html, have the same base as their clean form and are served as well.
 */
export function lookUp(manifest: LoadedManifest, rawPath: string): Found {
  const { files, singlePage, notFound } = manifest
  const path = decode(rawPath)
  if (path === undefined) return { kind: 'malformed' }

  const exact = files.get(path)
  if (exact) return { kind: 'file', status: 200, path, file: exact }

  if (path.endsWith('/')) {
    const index = files.get(`${path}index.html`)
    if (index) return { kind: 'file', status: 200, path: `${path}index.html`, file: index }
    const page = path.slice(0, -1)
    if (files.has(`${page}.html`)) return { kind: 'redirect', location: encode(page) }
  } else {
    const page = files.get(`${path}.html`)
    if (page) return { kind: 'file', status: 200, path: `${path}.html`, file: page }
    if (files.has(`${path}/index.html`)) return { kind: 'redirect', location: `${encode(path)}/` }
  }

  const hasExtension = path.includes('.', path.lastIndexOf('/'))
  const fallback = singlePage && !hasExtension ? '/index.html' : notFound
  const file = fallback === null ? undefined : files.get(fallback)
  if (fallback === null || !file) return { kind: 'missing' }
  return { kind: 'file', status: fallback === notFound ? 404 : 200, path: fallback, file }
}

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
