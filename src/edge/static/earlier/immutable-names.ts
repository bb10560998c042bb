/**
 * Which files of a deployment are kept for pages that were loaded from it, after another deployment is live: those that
 * never change under their name, and that a page loads by itself. A page that is open in a browser names them in full.
 *
 * A file is known by its path from the folder that bundlers write into. What is in front of it depends on settings that
 * an app may compute (base path, asset prefix), and says nothing about the content.
 */
import { contentTypeOf } from '../../http/content-types.ts'
import { isContentHashed } from '../hashed-names.ts'

/** Only frameworks write here, and nothing whose content changes under its name. */
const OWN_FOLDERS = ['/_next/static/', '/_app/immutable/', '/_build/assets/', '/_astro/', '/_nuxt/']
/** Bundlers write here, but developers put files of their own here as well. */
const SHARED_FOLDERS = ['/assets/', '/static/']

/** The path by which such a file is known; undefined for every other file. The address is decoded, without a query. */
export function immutableNameOf(address: string): string | undefined {
  if (!isLoadedByPages(address)) return undefined
  const own = fromLast(address, OWN_FOLDERS)
  if (own !== undefined) return own
  const shared = fromLast(address, SHARED_FOLDERS)
  return shared !== undefined && (isContentHashed(shared) || isBundled(shared)) ? shared : undefined
}

/** The last of these folders counts: what is in front of it may be a base path of the same name. */
function fromLast(address: string, folders: readonly string[]): string | undefined {
  const at = Math.max(...folders.map((folder) => address.lastIndexOf(folder)))
  return at < 0 ? undefined : address.slice(at)
}

/** Scripts, styles, fonts, images, WebAssembly and source maps. Never a page, and never data, which may be outdated. */
function isLoadedByPages(address: string): boolean {
  const { type } = contentTypeOf(address)
  return address.endsWith('.map') || LOADED.test(type)
}

const LOADED = /^(?:text\/(?:javascript|css)|font\/|image\/|application\/(?:wasm|vnd\.ms-fontobject))/

/**
 * A quarter of the hashes that Vite writes have no digit. In the name of a script or style, eight letters of both cases
 * after a hyphen are a hash as well: this decides only whether an old file stays, not how long a browser may keep a new
 * one.
 */
function isBundled(name: string): boolean {
  const [, letters = ''] = BUNDLED.exec(name) ?? []
  return /[a-z]/.test(letters) && /[A-Z]/.test(letters.slice(1))
}

const BUNDLED = /-([\w-]{8})\.(?:js|mjs|css)(?:\.map)?$/
