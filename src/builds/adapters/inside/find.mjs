/** Installed packages as Node finds them from the app's folder. */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The real path of a package; undefined where it is not installed. */
export function folderOf(name) {
  for (let at = process.cwd(); ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name)
    if (existsSync(join(folder, 'package.json'))) return realpathSync(folder)
    if (dirname(at) === at) return undefined
  }
}

export const manifestIn = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
