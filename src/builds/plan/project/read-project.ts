/** Reads everything that planning needs out of a source. What decides afterwards touches neither disk nor archive. */
import { posix } from 'node:path'
import { Problem } from '../../../contract/index.ts'
import { FRAMEWORKS } from '../frameworks/index.ts'
import { choosePackages, readHome } from '../package-managers/index.ts'
import { VERSION_FILES } from './node-range.ts'
import { type PackageJson, parsePackageJson } from './package-json.ts'
import type { Project, Source } from './project.ts'

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
