/**
 * Which files have a hash of their content in their name, so that their content never changes: a browser may keep them
 * for a year without revalidation. A false positive shows a visitor an outdated file for that year, and no purge
 * reaches a browser; a false negative costs a 304. So in doubt the answer is no.
 */

/** Only frameworks write here: any segment of the path may be the hash, including a folder named by a build id. */
const OWN_FOLDERS = /^\/(?:_next\/static|_astro|_nuxt|_app\/immutable)\//
/** Bundlers write here, but developers put files of their own here as well. */
const SHARED_FOLDERS = /^\/(?:assets|static)\//

export function isContentHashed(path: string): boolean {
  if (OWN_FOLDERS.test(path)) return path.split('/').some((segment) => LOOSE_HASH.test(segment))
  if (!SHARED_FOLDERS.test(path)) return false
  const name = path.slice(path.lastIndexOf('/') + 1)
  return name.split(/[._-]/).slice(1).some(isHash) || isHash(BUNDLER_HASH.exec(name)?.[1] ?? '')
}

/** Eight characters or more of hexadecimal or base64url with a digit among them, between separators. */
const LOOSE_HASH = /(?:^|[._-])(?=[\w-]*\d)[\w-]{8,}(?:\.|$)/

/** A hash in base64url may contain separators itself: `index-B_k3-d9A.js`. */
const BUNDLER_HASH = /-([\w-]{8})\.\w+(?:\.map)?$/

/** A digit alone is not enough, because `photo-20240131.jpg` and `theme-material3.css` are no hashes. */
function isHash(part: string): boolean {
  if (part.length < 8 || !/\d/.test(part)) return false
  return /^[0-9a-f]+$/.test(part) ? /[a-f]/.test(part) : /[a-z]/.test(part) && /[A-Z]/.test(part)
}
