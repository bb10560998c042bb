/**
 * The app as planning sees it: the names of its files, its package.json, the text of the configuration files that frameworks
 * ask for, and the folder where its packages are installed.
 */
import type { Home, Packages } from '../package-managers/package-manager.ts'
import type { PackageJson } from './package-json.ts'

/** What planning can read, from a folder or from an archive. */
export type Source = {
  /** Relative, with `/` between folders, sorted. */
  files: readonly string[]
  /** Undefined for a file that does not exist, or is too large for a configuration file. */
  read(path: string): Promise<string | undefined>
  /** The beginning of a file of any size; undefined for one that does not exist. */
  head(path: string, bytes: number): Promise<string | undefined>
}

/** Every path is relative to the root directory; only `home` contains files outside of it. */
export type Project = {
  files: ReadonlySet<string>
  packageJson: PackageJson | undefined
  /** Configuration files that were read, by path. */
  texts: Readonly<Record<string, string>>
  /** Relative to the top of the source, without a slash at the end; empty for the top. */
  rootDirectory: string
  /** Where packages are installed. */
  home: Home
  /** What installs them. */
  packages: Packages
}
