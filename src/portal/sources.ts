/**
 * Which build of the portal belongs to the current sources: a digest over all of them, and over the lockfile with the versions of
 * dependencies. It takes 25 ms of a start, and no less with sizes and times in place of contents: walking the folders is what
 * takes the time. Asking Vite would take half a second.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** The folder of builds, each in a folder named by the digest of its sources. */
export const builtIn = (folder: string): string => join(folder, 'dist')

/** The digest of the sources, or undefined where there are none: an installed package has only what was built. */
export function digestOfSources(folder: string): string | undefined {
  if (!existsSync(join(folder, 'index.html'))) return undefined
  const hash = createHash('sha256')
  const lockfile = join(folder, '..', 'package-lock.json')
  for (const file of [...filesOf(folder), ...(existsSync(lockfile) ? [lockfile] : [])]) {
    const content = readFileSync(file)
    hash.update(`${relative(folder, file)}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex').slice(0, 32)
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return entry.name === 'dist' || entry.name === 'node_modules' ? [] : filesOf(path)
      return entry.isFile() && !entry.name.endsWith('.test.ts') ? [path] : []
    })
    .sort()
}
