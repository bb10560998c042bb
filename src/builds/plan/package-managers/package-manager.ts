/** What planning asks of each package manager. */
import semver from 'semver'
import type { PackageManager } from '../plan.ts'
import type { Home } from './home.ts'

export type Manager = {
  name: PackageManager['name']
  /** Its lockfiles, the one that counts first. */
  lockfiles: readonly string[]
  /** For two that share a name and a lockfile: whether this one is meant. */
  isMeant(hint: Hint): boolean
  /** Which versions will do, as a semver range, when nobody says: by the beginning of its lockfile. */
  versionFor(lockfile: string | undefined): string
  /** Files that decide what is installed, by name, wherever they lie. */
  settings: readonly string[]
  /** Folders whose files do, too. */
  settingsFolders: readonly string[]
  install(request: InstallRequest): string[]
  /** Without a word of its own in the log if `isSilent`. */
  run(script: string, isSilent: boolean): string[]
  /** Variables for install and build. */
  environment(home: Home): Record<string, string>
  /** Where it keeps what it downloads, in a folder that is given to it. */
  store(folder: string, version: string): Record<string, string>
  storeFolder: string
  /** Whether it holds what it takes out of its store against the checksums of the lockfile. */
  isVerified: boolean
}

export type Hint = {
  /** A semver range, where package.json names one. */
  version: string | undefined
  /** The beginning of the lockfile, where there is one. */
  lockfile: string | undefined
  home: Home
}

export type InstallRequest = {
  /** Whether there is a lockfile that it can take as it is. */
  isLocked: boolean
  /** Whether there are workspaces in a folder above that this folder is none of. */
  isBelowWorkspaces: boolean
}

/** The major version of the oldest version in a range. */
export const majorOf = (range: string): number => semver.minVersion(range)?.major ?? 0
