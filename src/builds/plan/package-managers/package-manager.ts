/** What planning asks of each package manager. */
import semver from 'semver'
import type { PackageManager } from '../plan.ts'
import type { PackageJson } from '../project/package-json.ts'

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

/** The folder where packages are installed. */
export type Home = {
  /** Relative to the top of the source; empty for the top. */
  folder: string
  /** Relative to the folder: every file in it and below. */
  files: ReadonlySet<string>
  packageJson: PackageJson | undefined
  /** Settings, and the beginnings of lockfiles, by name. */
  texts: Readonly<Record<string, string>>
  /** Globs of its workspaces; undefined where it has none. */
  globs: readonly string[] | undefined
  /** Its workspaces; undefined if they are too many to be read. */
  members: readonly Member[] | undefined
  /** Whether a folder above has workspaces, but the app is none of them. */
  isBelowWorkspaces: boolean
  because: string[]
}

/** The folder is relative to the home. */
export type Member = { folder: string; packageJson: PackageJson }

/** How the packages of an app are installed. */
export type Packages = {
  manager: Manager
  /** A semver range. */
  version: string
  /** Relative to the home. */
  lockfile: string | null
  /** Whether the lockfile can be taken as it is. */
  isLocked: boolean
  /** Whether there will be no `node_modules`, so that the manager must start whatever needs a package. */
  isPlugAndPlay: boolean
  /** Why this one, when it was chosen by something else than its lockfile alone. */
  because: string[]
}

/** The major version of the oldest version in a range. */
export const majorOf = (range: string): number => semver.minVersion(range)?.major ?? 0
