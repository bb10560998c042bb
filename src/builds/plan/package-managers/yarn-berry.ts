/** Yarn 2 and later, which shares nothing with Yarn 1 but its name and the name of its lockfile. */
import { type Hint, type Home, type Manager, majorOf } from './package-manager.ts'

/**
 * Which versions write which format of the lockfile. An immutable install fails with any other version. Format 4 is also that
 * of Yarn 2, with a smaller cache key.
 */
const BY_FORM: Readonly<Record<string, string>> = {
  4: '~3.0',
  5: '~3.1',
  6: '>=3.2 <4',
  7: '>=4.0 <4.14',
  8: '>=4.0 <4.14',
  9: '~4.14',
}
const FORM = /^__metadata:\r?\n {2}version: (\d{1,3})(?:\r?\n {2}cacheKey: (\d{1,3}))?/m
const LATEST = '4'

export const yarnBerry: Manager = {
  name: 'yarn',
  lockfiles: ['yarn.lock'],
  isMeant: (hint) => isBerry(hint),
  versionFor(lockfile = '') {
    const [, form = '', cacheKey = ''] = FORM.exec(lockfile) ?? []
    return form === '4' && Number(cacheKey) < 8 ? '2' : (BY_FORM[form] ?? LATEST)
  },
  settings: ['.yarnrc.yml'],
  settingsFolders: ['.yarn/releases', '.yarn/plugins', '.yarn/patches', '.yarn/cache'],
  // With CI set, Yarn would not write a lockfile.
  install: ({ isLocked }) => ['yarn', 'install', isLocked ? '--immutable' : '--no-immutable'],
  run: (script) => ['yarn', 'run', script],
  /**
   * With Plug'n'Play the packed packages are needed at run time, so the cache must be in the app. Otherwise a cache in the app
   * would only be a second copy.
   */
  environment: (home) => ({
    YARN_ENABLE_GLOBAL_CACHE: isPlugAndPlay(home) || hasOwnCache(home) ? 'false' : 'true',
    YARN_ENABLE_TELEMETRY: '0',
  }),
  store: (folder) => ({ YARN_GLOBAL_FOLDER: folder }),
  storeFolder: 'yarn-berry',
  // A setting turns the checks off, and other linkers do not check.
  isVerified: false,
}

export function isBerry({ version, lockfile, home }: Hint): boolean {
  if (version !== undefined) return majorOf(version) >= 2
  if (lockfile !== undefined && lockfile.trim() !== '') return isBerryLockfile(lockfile)
  return home.files.has('.yarnrc.yml')
}

export const isBerryLockfile = (lockfile: string): boolean => /^__metadata:/m.test(lockfile)

/** Plug'n'Play: there will be no `node_modules`, and only programs that Yarn starts find the packages. */
export function isPlugAndPlay({ texts }: Home): boolean {
  const [, linker] = /^nodeLinker:\s{0,9}['"]?([\w-]{1,20})/m.exec(texts['.yarnrc.yml'] ?? '') ?? []
  if (linker !== undefined) return linker === 'pnp'
  // Yarn installs into `node_modules` where the lockfile is that of Yarn 1.
  const lockfile = texts['yarn.lock'] ?? ''
  return lockfile.trim() === '' || isBerryLockfile(lockfile)
}

/** Packages that were uploaded with the app. */
const hasOwnCache = ({ files }: Home): boolean => [...files].some((path) => path.startsWith('.yarn/cache/'))
