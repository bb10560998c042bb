/**
 * Finds missing native packages right after an install, before the program that needs them fails with a misleading message.
 * npm silently skips an optional package where the registry or the lockfile does not have it; a lockfile that was made on a Mac
 * with an old node_modules may lack all packages for Linux.
 */

export type Platform = { os: string; cpu: string; libc: 'glibc' | 'musl' | null }

export type LockedPackage = {
  version: string | null
  os: readonly string[]
  cpu: readonly string[]
  libc: readonly string[]
  optionalDependencies: readonly string[]
}

/** The packages of npm's lockfile (version 2 or 3) by their folder, relative to the lockfile; '' is the app itself. */
export type PackageLock = ReadonlyMap<string, LockedPackage>

/** A native package for this platform that a package requires. Folders are relative to the lockfile, and inside. */
export type Native = {
  name: string
  /** The folder of the package that requires it; null for the app itself and its workspaces. */
  parent: string | null
  /** The version of the package that requires it. */
  parentVersion: string | null
  /** Where it should be; null where the lockfile does not have it, so that it cannot be installed. */
  folder: string | null
}

/** More than any app has, and few enough to be checked quickly. */
const MAX_NATIVES = 500
const MAX_PATH_LENGTH = 1024

/** Empty for a lockfile without entries or before version 2. Malformed entries have empty fields. */
export function packagesIn(lockfile: unknown): PackageLock {
  const packages = fieldOf(lockfile, 'packages')
  if (typeof packages !== 'object' || packages === null) return new Map()
  return new Map(
    Object.entries(packages).map(([path, entry]) => [
      path,
      {
        version: versionIn(fieldOf(entry, 'version')),
        os: strings(fieldOf(entry, 'os')),
        cpu: strings(fieldOf(entry, 'cpu')),
        libc: strings(fieldOf(entry, 'libc')),
        optionalDependencies: namesIn(fieldOf(entry, 'optionalDependencies')),
      },
    ]),
  )
}

export function nativesIn(lock: PackageLock, platform: Platform): Native[] {
  const found: Native[] = []
  for (const [path, { version, optionalDependencies }] of lock) {
    const parent = isOwn(path) ? null : path
    if (parent !== null && !isInside(parent)) continue
    for (const name of optionalDependencies) {
      if (found.length >= MAX_NATIVES) return found
      const isFitting = fitsByName(name, platform)
      if (!isInside(name) || isFitting === false) continue
      const folder = resolve(lock, path, name) ?? null
      if (folder === null ? isFitting : isInside(folder) && isNative(lock, folder, platform))
        found.push({ name, parent, parentVersion: version, folder })
    }
  }
  return found
}

/** A native package that is required and not installed. */
export type Missing = {
  name: string
  /** The package that requires it; null for the app itself. */
  parent: { name: string; version: string } | null
  /** Whether the lockfile has it: then the lockfile is not the cause. */
  isLocked: boolean
}

/** Sorted by name, each once. */
export async function missingOf(
  natives: readonly Native[],
  isThere: (folder: string) => Promise<boolean>,
): Promise<Missing[]> {
  const missing = new Map<string, Missing>()
  for (const { name, parent, parentVersion, folder } of natives) {
    if (parent !== null && !(await isThere(parent))) continue
    if (folder !== null && (await isThere(folder))) continue
    const asking = parent === null || parentVersion === null ? null : { name: nameAt(parent), version: parentVersion }
    missing.set(name, { name, parent: asking, isLocked: folder !== null })
  }
  return [...missing.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** `node_modules/vite/node_modules/rollup` is `rollup`. */
const nameAt = (folder: string): string => folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)

/** A lockfile is untrusted: paths that lead outside are not looked up. */
const isInside = (path: string): boolean =>
  path.length <= MAX_PATH_LENGTH &&
  !path.includes('\0') &&
  path.split('/').every((name) => name !== '' && name !== '.' && name !== '..')

/** The app itself, or a workspace of it. */
const isOwn = (path: string): boolean => !path.includes('node_modules/')

/** Where Node looks for a package: beside the package that requires it, then further up. */
function resolve(lock: PackageLock, parent: string, name: string): string | undefined {
  let folder = parent
  for (;;) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (lock.has(path)) return path
    if (folder === '') return undefined
    const up = folder.lastIndexOf('/node_modules/')
    folder = up < 0 ? '' : folder.slice(0, up)
  }
}

function isNative(lock: PackageLock, path: string, { os, cpu, libc }: Platform): boolean {
  const entry = lock.get(path)
  if (!entry || entry.os.length + entry.cpu.length === 0) return false
  return allows(entry.os, os) && allows(entry.cpu, cpu) && (libc === null || allows(entry.libc, libc))
}

/** As npm reads these lists: `!win32` is all but win32, and an empty list is everything. */
function allows(list: readonly string[], value: string): boolean {
  if (list.includes(`!${value}`)) return false
  return list.every((item) => item.startsWith('!')) || list.includes(value)
}

const SYSTEMS = new Set([
  'linux',
  'darwin',
  'win32',
  'windows',
  'freebsd',
  'openbsd',
  'netbsd',
  'sunos',
  'aix',
  'android',
])
const ALIASES: Record<string, string> = { aarch64: 'arm64', x86_64: 'x64', amd64: 'x64', windows: 'win32' }
const C_LIBRARIES: Record<string, 'glibc' | 'musl'> = { gnu: 'glibc', glibc: 'glibc', musl: 'musl' }

/** Whether a name such as `@rollup/rollup-linux-arm64-gnu` is for this platform; undefined for a name without a platform. */
function fitsByName(name: string, { os, cpu, libc }: Platform): boolean | undefined {
  const words = name
    .replace('x86_64', 'x64')
    .replace('linuxmusl', 'linux-musl')
    .split(/[@/._-]/)
    .map((word) => ALIASES[word] ?? word)
  const system = words.find((word) => SYSTEMS.has(word))
  if (system === undefined) return undefined
  const library = words.map((word) => C_LIBRARIES[word]).find((found) => found !== undefined)
  return system === os && words.includes(cpu) && (library === undefined || libc === null || library === libc)
}

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined

const MAX_VERSION_LENGTH = 64

/** Null for an invalid version. */
const versionIn = (value: unknown): string | null =>
  typeof value === 'string' && value.length <= MAX_VERSION_LENGTH && /^\d[\w.+-]*$/.test(value) ? value : null

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : typeof value === 'string' ? [value] : []

const namesIn = (value: unknown): string[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
