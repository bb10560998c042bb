/**
 * The versions on one site: the current one at its top, each older one in `versions/{name}/` as it was made when it was
 * current. `versions.json` at the top names them all; pages of older versions read it, so they know of newer ones.
 */
import { readdir } from 'node:fs/promises'

export type Version = { name: string /** From the top of the site. */; path: string }

export const OLDER = 'versions'

/** Newest first: the current one, and those in the folder of older ones. */
export async function versionsOf(current: string, older?: string): Promise<Version[]> {
  const entries = older === undefined ? [] : await readdir(older, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory() && entry.name !== current).map(({ name }) => name)
  const byNumber = new Intl.Collator('en', { numeric: true })
  return [
    { name: current, path: '' },
    ...names.sort((a, b) => byNumber.compare(b, a)).map((name) => ({ name, path: `${OLDER}/${name}/` })),
  ]
}
