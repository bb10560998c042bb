/** What was left out of an upload, in one line. */
import type { LeftOut } from '../../zip/select.ts'

const MAX_NAMED = 6

/** `node_modules/, .git/ and 12 more`; empty if nothing was left out. */
export function inWords({ names, count }: LeftOut): string {
  const named = names.slice(0, MAX_NAMED)
  const more = count - named.length
  return more > 0 ? `${named.join(', ')} and ${more.toLocaleString('en')} more` : named.join(', ')
}
