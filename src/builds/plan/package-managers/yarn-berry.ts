/** Yarn 2 and later, which shares nothing with Yarn 1 but its name and the name of its lockfile. */
import { type Hint, type Home, type Manager, majorOf } from './package-manager.ts'

/**
 * Which versions write which form of the lockfile. An install that may not change the lockfile fails with any other. The
 * fourth form is also that of Yarn 2, with a smaller key of its cache.
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
  // Where CI is set it would not write a lockfile.
  install: ({ isLocked }) => ['yarn', 'install', isLocked ? '--immutable' : '--no-immutable'],
  run: (script) => ['yarn', 'run', script],
  /**
   * Packages that are used as they are packed are needed wherever the app runs, so they must lie with the app. Otherwise
   * they would only be there twice.
   */
  environment: (home) => ({
    YARN_ENABLE_GLOBAL_CACHE: isPlugAndPlay(home) || hasOwnCache(home) ? 'false' : 'true',
    YARN_ENABLE_TELEMETRY: '0',
  }),
  store: (folder) => ({ YARN_GLOBAL_FOLDER: folder }),
  storeFolder: 'yarn-berry',
  // A setting turns the checks off, and linkers other than the usual two do without them.
  isVerified: false,
}

export function isBerry({ version, lockfile, home }: Hint): boolean {
  if (version !== undefined) return majorOf(version) >= 2
  if (lockfile !== undefined && lockfile.trim() !== '') return isBerryLockfile(lockfile)
  return home.files.has('.yarnrc.yml')
}

export const isBerryLockfile = (lockfile: string): boolean => /^__metadata:/m.test(lockfile)

/** Whether there will be no `node_modules`: packages stay packed, and only what Yarn starts finds them. */
export function isPlugAndPlay({ texts }: Home): boolean {
  const [, linker] = /^nodeLinker:\s{0,9}['"]?([\w-]{1,20})/m.exec(texts['.yarnrc.yml'] ?? '') ?? []
  if (linker !== undefined) return linker === 'pnp'
  // Who comes from Yarn 1 gets what Yarn 1 makes.
  const lockfile = texts['yarn.lock'] ?? ''
  return lockfile.trim() === '' || isBerryLockfile(lockfile)
}

/** Packages that were uploaded with the app. */
const hasOwnCache = ({ files }: Home): boolean => [...files].some((path) => path.startsWith('.yarn/cache/'))
