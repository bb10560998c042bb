/**
 * Which files carry a hash of their content in their name, and so never change under it: a browser may keep them for a
 * year without asking. A wrong yes shows somebody an old file for that year, and no purge reaches a browser; a wrong no
 * costs a 304. So in doubt the answer is no.
 */

/** Only the frameworks write here: any part of the path may be the hash, a folder named by a build's id included. */
const OWN_FOLDERS = /^\/(?:_next\/static|_astro|_nuxt|_app\/immutable)\//
/** Bundlers write here, and people do too. */
const SHARED_FOLDERS = /^\/(?:assets|static)\//

export function isContentHashed(path: string): boolean {
  if (OWN_FOLDERS.test(path)) return path.split('/').some((segment) => LOOSE_HASH.test(segment))
  if (!SHARED_FOLDERS.test(path)) return false
  const name = path.slice(path.lastIndexOf('/') + 1)
  return name.split(/[._-]/).slice(1).some(isHash) || isHash(BUNDLER_HASH.exec(name)?.[1] ?? '')
}

/** Eight characters or more of hexadecimal or base64url with a digit among them, between separators. */
const LOOSE_HASH = /(?:^|[._-])(?=[\w-]*\d)[\w-]{8,}(?:\.|$)/

/** A hash in base64url may hold separators itself: `index-B_k3-d9A.js`. */
const BUNDLER_HASH = /-([\w-]{8})\.\w+(?:\.map)?$/

/** More than a digit is asked for, because `photo-20240131.jpg` and `theme-material3.css` are no hashes. */
function isHash(part: string): boolean {
  if (part.length < 8 || !/\d/.test(part)) return false
  return /^[0-9a-f]+$/.test(part) ? /[a-f]/.test(part) : /[a-z]/.test(part) && /[A-Z]/.test(part)
}
