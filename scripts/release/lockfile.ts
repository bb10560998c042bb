/** What npm installs, by `package-lock.json`: which package is found from which, as Node looks for them. */

export type LockedPackage = {
  version: string
  license?: string
  integrity?: string
  optional?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

/** By folder, such as `node_modules/ajv`; the package itself is at ''. */
export type Lockfile = { packages: Record<string, LockedPackage> }

/** The folders of the packages that come with this one: those that it needs at run time, and those that they need. */
export function installedWith(lock: Lockfile): Set<string> {
  const found = new Set<string>()
  const follow = (folder: string) => {
    for (const next of neededBy(lock, folder)) {
      if (found.has(next)) continue
      found.add(next)
      follow(next)
    }
  }
  follow('')
  return found
}

/** The folders of the packages that this one needs at run time. One that is nowhere is optional, and was not wanted. */
export function neededBy(lock: Lockfile, folder: string): string[] {
  const { dependencies, optionalDependencies, peerDependencies } = lock.packages[folder] ?? {}
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
  return names.flatMap((name) => folderOf(lock, name, folder) ?? [])
}

/** Where a package finds another one: in its own folder, else in one of those around it. */
export function folderOf(lock: Lockfile, name: string, from: string): string | undefined {
  for (let around = from; ; around = around.slice(0, Math.max(0, around.lastIndexOf('/node_modules/')))) {
    const folder = around === '' ? `node_modules/${name}` : `${around}/node_modules/${name}`
    if (lock.packages[folder]) return folder
    if (around === '') return undefined
  }
}

export const nameOf = (folder: string): string => folder.slice(folder.lastIndexOf('node_modules/') + 13)
