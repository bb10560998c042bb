/** What planning needs of each package manager, and the types that its parts share. */
import semver from 'semver'
import type { PackageManager } from '../plan.ts'
import type { PackageJson } from '../project/package-json.ts'

export type Manager = {
  name: PackageManager['name']
  /** Its lockfiles, in the order of precedence. */
  lockfiles: readonly string[]
  /** For two that share a name and a lockfile: whether this one is meant. */
  isMeant(hint: Hint): boolean
  /** The accepted versions as a semver range where the app names none, by the beginning of its lockfile. */
  versionFor(lockfile: string | undefined): string
  /** Names of files that decide what is installed, in any folder. */
  settings: readonly string[]
  /** Folders whose files decide it too. */
  settingsFolders: readonly string[]
  install(request: InstallRequest): string[]
  /** With `isSilent` the manager itself writes nothing to the log. */
  run(script: string, isSilent: boolean): string[]
  /** Variables for install and build. */
  environment(home: Home): Record<string, string>
  /** Variables that make it use a folder as its store. */
  store(folder: string, version: string): Record<string, string>
  storeFolder: string
  /**
   * Where its store has each tarball under its SHA-512, if it takes it from there by the checksum of the lockfile alone and
   * checks it against that.
   */
  tarballFolder?: string
  /** Whether it checks files of its store against the checksums of the lockfile. */
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
  /** Whether there is a lockfile that it can use unchanged. */
  isLocked: boolean
  /** Whether a folder above has workspaces, but this folder is not one of them. */
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
  /** Whether a folder above has workspaces, but the app is not one of them. */
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
  /** Whether the lockfile can be used unchanged. */
  isLocked: boolean
  /** Whether there will be no `node_modules`, so that the manager must start whatever needs a package. */
  isPlugAndPlay: boolean
  /** Why this one was chosen, where its lockfile was not the only reason. */
  because: string[]
}

/** The major version of the oldest version in a range. */
export const majorOf = (range: string): number => semver.minVersion(range)?.major ?? 0
