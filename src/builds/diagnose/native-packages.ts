/**
 * Finds out right after an install which native packages are absent, before the program that needs them fails in words that
 * blame somebody else. npm skips an optional package without a word where the registry or the lockfile does not have it; a
 * lockfile that was made on a Mac beside an old node_modules may lack all of Linux.
 */

export type Platform = { os: string; cpu: string; libc: 'glibc' | 'musl' | null }

export type LockedPackage = {
  os: readonly string[]
  cpu: readonly string[]
  libc: readonly string[]
  optionalDependencies: readonly string[]
}

/** The packages of npm's lockfile (version 2 or 3) by their folder, relative to the lockfile; '' is the app itself. */
export type PackageLock = ReadonlyMap<string, LockedPackage>

/** Of a lockfile that is none, or of a kind before version 2, nothing is known. */
export function parsePackageLock(text: string): PackageLock {
  const packages = fieldOf(parse(text), 'packages')
  if (typeof packages !== 'object' || packages === null) return new Map()
  return new Map(
    Object.entries(packages).map(([path, entry]) => [
      path,
      {
        os: strings(fieldOf(entry, 'os')),
        cpu: strings(fieldOf(entry, 'cpu')),
        libc: strings(fieldOf(entry, 'libc')),
        optionalDependencies: namesIn(fieldOf(entry, 'optionalDependencies')),
      },
    ]),
  )
}

/**
 * Names of native packages for this platform that an installed package asks for and that are not there. `isThere` is asked
 * for folders relative to the lockfile.
 */
export function nativePackagesMissing(
  lock: PackageLock,
  platform: Platform,
  isThere: (path: string) => boolean,
): string[] {
  const missing = new Set<string>()
  for (const [parent, { optionalDependencies }] of lock) {
    if (optionalDependencies.length === 0 || !(isOwn(parent) || isThere(parent))) continue
    for (const name of optionalDependencies) {
      if (!(fitsByName(name, platform) ?? true)) continue
      const path = resolve(lock, parent, name)
      const isAbsent =
        path === undefined ? fitsByName(name, platform) : isNative(lock, path, platform) && !isThere(path)
      if (isAbsent) missing.add(name)
    }
  }
  return [...missing].toSorted()
}

/** The app itself, or a workspace of it. */
const isOwn = (path: string): boolean => !path.includes('node_modules/')

/** Where Node looks for a package: beside whoever asks, then further up. */
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

/** As npm reads these lists: `!win32` is all but that, and an empty list is everything. */
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

/** Whether a name such as `@rollup/rollup-linux-arm64-gnu` is for this platform; undefined for a name that says nothing. */
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : typeof value === 'string' ? [value] : []

const namesIn = (value: unknown): string[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
