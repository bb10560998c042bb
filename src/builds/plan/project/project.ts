/**
 * The app as planning sees it: the names of its files, its package.json, the text of the configuration files that frameworks
 * ask for, and the folder where its packages are installed.
 */
import type { Home, Packages } from '../package-managers/package-manager.ts'
import type { PackageJson } from './package-json.ts'

/** What planning may look at: names of files, and the text of the small ones. From a folder or straight from an archive. */
export type Source = {
  /** Relative, with `/` between folders, sorted. */
  files: readonly string[]
  /** Nothing for a file that is not there, or is too large to be a configuration file. */
  read(path: string): Promise<string | undefined>
  /** How a file begins, which may be of any size; nothing for one that is not there. */
  head(path: string, bytes: number): Promise<string | undefined>
}

/** Every path is relative to the root directory, and nothing outside of it is seen, except for what `home` has. */
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
