/** Which package manager installs an app's packages, and in which version: by package.json, or else by the lockfile. */
import semver from 'semver'
import type { PackageJson } from '../project/package-json.ts'
import { LOCKFILES } from './home.ts'
import { MANAGERS } from './managers.ts'
import { npm } from './npm.ts'
import type { Home, Manager, Packages } from './package-manager.ts'
import { isBerryLockfile, isPlugAndPlay, yarnBerry } from './yarn-berry.ts'

export function choosePackages(home: Home, own: PackageJson | undefined): Packages {
  const { requested, because } = requestedManager(home, own)
  const there = LOCKFILES.filter((name) => home.files.has(name))
  const manager = MANAGERS.find((manager) => {
    const lockfile = manager.lockfiles.find((name) => home.files.has(name))
    if (requested === undefined ? lockfile === undefined : requested.name !== manager.name) return false
    return manager.isMeant({ version: requested?.version, lockfile: lockfile && home.texts[lockfile], home })
  })
  const chosen = manager ?? npm
  // An empty lockfile only marks the folder.
  const lockfile = chosen.lockfiles.find((name) => home.files.has(name) && home.texts[name]?.trim() !== '') ?? null
  const head = lockfile === null ? undefined : (home.texts[lockfile] ?? '')
  const isForeign = chosen === yarnBerry && head !== undefined && !isBerryLockfile(head)
  if (isForeign) because.push('yarn.lock is of Yarn 1, so Yarn writes it anew')
  const unread = there.filter((name) => !chosen.lockfiles.includes(name))
  if (unread.length > 0) because.push(`${unread.join(', ')}: not read, since ${chosen.name} installs the packages`)
  return {
    manager: chosen,
    version: requested?.version ?? chosen.versionFor(head),
    lockfile,
    isLocked: lockfile !== null && !isForeign,
    isPlugAndPlay: chosen === yarnBerry && isPlugAndPlay(home),
    because,
  }
}

type Requested = { name: Manager['name']; version: string | undefined }

const MAX_VERSION_LENGTH = 100

/** The folder where packages are installed takes precedence, as it does for the package managers. */
function requestedManager(
  home: Home,
  own: PackageJson | undefined,
): { requested: Requested | undefined; because: string[] } {
  const wanted = home.packageJson?.packageManager ?? own?.packageManager
  if (wanted === undefined) return { requested: undefined, because: [] }
  const written = `${wanted.field} of package.json`
  const name = MANAGERS.find((manager) => manager.name === wanted.name)?.name
  if (name === undefined) return { requested: undefined, because: [`${written} names no known package manager`] }
  const isRange = wanted.version.length <= MAX_VERSION_LENGTH && semver.validRange(wanted.version) !== null
  if (!isRange)
    return { requested: { name, version: undefined }, because: [`${written} names ${name}, but no version`] }
  const version = wanted.version === '*' ? undefined : wanted.version
  return {
    requested: { name, version },
    because: [`${written} is ${name}${version === undefined ? '' : ` ${version}`}`],
  }
}
