/**
 * The app as planning sees it: the names of its files, its package.json, the text of the configuration files that some
 * framework asked for, and the folder where its packages are installed. Reading ends here; whoever decides afterwards
 * touches neither disk nor archive.
 */
import { posix } from 'node:path'
import { Problem } from '../../../contract/index.ts'
import { FRAMEWORKS } from '../frameworks/index.ts'
import { choosePackages, type Home, type Packages, readHome } from '../package-managers/index.ts'
import { VERSION_FILES } from './node-range.ts'
import { type PackageJson, parsePackageJson } from './package-json.ts'

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

export async function readProject(source: Source, rootDirectory: string): Promise<Project> {
  const root = tidyRootDirectory(rootDirectory)
  const prefix = root === '' ? '' : `${root}/`
  const files = source.files.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length))
  if (root !== '' && files.length === 0) throw missingRootDirectory(source, root)

  const found = new Set(files)
  const packageJson = found.has('package.json') ? await readPackageJson(source, prefix) : undefined
  const wanted = FRAMEWORKS.flatMap(({ reads, readsBeside }) => [...reads, ...(readsBeside?.(found) ?? [])])
  const texts: Record<string, string> = {}
  for (const path of [...wanted, ...VERSION_FILES]) {
    const text = found.has(path) && texts[path] === undefined ? await source.read(prefix + path) : undefined
    if (text !== undefined) texts[path] = text
  }
  const home = await readHome(source, root, packageJson)
  return { files: found, packageJson, texts, rootDirectory: root, home, packages: choosePackages(home, packageJson) }
}

async function readPackageJson(source: Source, prefix: string): Promise<PackageJson> {
  const path = `${prefix}package.json`
  const text = await source.read(path)
  if (text === undefined) throw new Problem('PLAN_FAILED', `${path} could not be read: it is too large.`)
  return parsePackageJson(text, path)
}

/** `./web/`, `web//` and `web` are the same folder. */
function tidyRootDirectory(rootDirectory: string): string {
  const tidy = posix.normalize(rootDirectory).replace(/\/$/, '')
  if (tidy.startsWith('/') || tidy === '..' || tidy.startsWith('../'))
    throw new Problem('PLAN_FAILED', `The root directory ${rootDirectory} leads out of the archive.`)
  return tidy === '.' ? '' : tidy
}

function missingRootDirectory(source: Source, root: string): Problem {
  if (source.files.includes(root)) return new Problem('PLAN_FAILED', `The root directory ${root} is a file.`)
  const folders = new Set(source.files.filter((path) => path.includes('/')).map((path) => path.split('/', 1)[0] ?? ''))
  const shown = [...folders].slice(0, FOLDERS_SHOWN).join(', ')
  const there = folders.size === 0 ? 'has no folders' : `has ${shown}${folders.size > FOLDERS_SHOWN ? ', …' : ''}`
  return new Problem('PLAN_FAILED', `The root directory ${root} does not exist; the top of the archive ${there}.`)
}

const FOLDERS_SHOWN = 10
