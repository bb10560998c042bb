/**
 * The app as planning sees it: the names of its files, its package.json, and the text of the configuration files that
 * some framework asked for. Reading ends here; whoever decides afterwards touches neither disk nor archive.
 */
import { posix } from 'node:path'
import { Problem } from '../contract/index.ts'
import { FRAMEWORKS } from './frameworks/index.ts'
import { type PackageJson, parsePackageJson } from './package-json.ts'

/** What planning may look at: names of files, and the text of the small ones. From a folder or straight from an archive. */
export type Source = {
  /** Relative, with `/` between folders, sorted. */
  files: readonly string[]
  /** Nothing for a file that is not there, or is too large to be a configuration file. */
  read(path: string): Promise<string | undefined>
}

/** Every path is relative to the root directory, and nothing outside of it is seen. */
export type Project = {
  files: ReadonlySet<string>
  packageJson: PackageJson | undefined
  /** Configuration files that were read, by path. */
  texts: Readonly<Record<string, string>>
  /** Relative to the top of the source, without a slash at the end; empty for the top. */
  rootDirectory: string
}

export async function readProject(source: Source, rootDirectory: string): Promise<Project> {
  const root = tidyRootDirectory(rootDirectory)
  const prefix = root === '' ? '' : `${root}/`
  const files = source.files.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length))
  if (root !== '' && files.length === 0) throw missingRootDirectory(source, root)

  const found = new Set(files)
  const texts: Record<string, string> = {}
  for (const path of FRAMEWORKS.flatMap(({ reads }) => reads)) {
    const text = found.has(path) ? await source.read(prefix + path) : undefined
    if (text !== undefined) texts[path] = text
  }
  const packageJson = found.has('package.json') ? await readPackageJson(source, prefix) : undefined
  return { files: found, packageJson, texts, rootDirectory: root }
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
