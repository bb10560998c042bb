/**
 * Finds and reads the folder where an app's packages are installed: its own, or in a monorepo the folder above it that has the
 * app as a workspace. Everything is read here, so that later decisions touch neither disk nor archive.
 */
import { posix } from 'node:path'
import { type PackageJson, parsePackageJson } from '../project/package-json.ts'
import type { Source } from '../project/project.ts'
import { matchesGlobs } from './globs.ts'
import { MANAGERS } from './managers.ts'
import type { Home, Member } from './package-manager.ts'

const HEAD_BYTES = 16 * 1024
const MAX_MEMBERS = 300
export const LOCKFILES: readonly string[] = [...new Set(MANAGERS.flatMap(({ lockfiles }) => lockfiles))]
const SETTINGS = [...new Set(MANAGERS.flatMap(({ settings }) => settings)), '.nvmrc', '.node-version']

export async function readHome(source: Source, root: string, own: PackageJson | undefined): Promise<Home> {
  const found = new Set(source.files)
  const { folder, because, isBelowWorkspaces } = await findHome(source, found, root, own)
  const files = filesBelow(source.files, folder)
  const packageJson = folder === root ? own : await readManifest(source, found, folder)
  const texts: Record<string, string> = {}
  for (const name of [...SETTINGS, ...LOCKFILES].filter((name) => files.has(name))) {
    const path = posix.join(folder, name)
    const text = LOCKFILES.includes(name) ? await source.head(path, HEAD_BYTES) : await source.read(path)
    if (text !== undefined) texts[name] = text
  }
  const globs = globsOf(packageJson, texts[PNPM_WORKSPACES])
  const members = globs && (await readMembers(source, folder, files, globs))
  return { folder, files, packageJson, texts, globs, members: globs ? members : [], isBelowWorkspaces, because }
}

type HomeLocation = Pick<Home, 'folder' | 'because' | 'isBelowWorkspaces'>

async function findHome(
  source: Source,
  found: ReadonlySet<string>,
  root: string,
  own: PackageJson | undefined,
): Promise<HomeLocation> {
  const hasLockfile = (folder: string): boolean => LOCKFILES.some((name) => found.has(posix.join(folder, name)))
  let isBelowWorkspaces = false
  for (const folder of foldersAbove(root)) {
    const manifest = await readManifest(source, found, folder)
    const settings = posix.join(folder, PNPM_WORKSPACES)
    const globs = globsOf(manifest, found.has(settings) ? await source.read(settings) : undefined)
    isBelowWorkspaces ||= globs !== undefined || found.has(settings)
    if (globs === undefined) continue
    if (!matchesGlobs(globs, posix.relative(folder, root)) || (hasLockfile(root) && !hasLockfile(folder))) continue
    const because = [`${root} is a workspace of ${nameOf(folder)}, so packages are installed there`]
    return { folder, because, isBelowWorkspaces: false }
  }
  // Without dependencies of its own it uses the packages that Node finds in the folders above.
  const brings = own === undefined || Object.keys(own.dependencies).length > 0 || hasLockfile(root)
  const above = brings ? undefined : foldersAbove(root).find((folder) => hasLockfile(folder))
  if (above !== undefined && found.has(posix.join(above, 'package.json'))) {
    const because = [`${root} has no packages of its own, so those of ${nameOf(above)} are installed`]
    return { folder: above, because, isBelowWorkspaces: false }
  }
  return { folder: root, because: [], isBelowWorkspaces }
}

const nameOf = (folder: string): string => (folder === '' ? 'the top' : folder)

/** The nearest first. */
function foldersAbove(root: string): string[] {
  const segments = root.split('/')
  return root === '' ? [] : segments.map((_, index) => segments.slice(0, -index - 1).join('/'))
}

const filesBelow = (files: readonly string[], folder: string): Set<string> =>
  folder === ''
    ? new Set(files)
    : new Set(files.filter((path) => path.startsWith(`${folder}/`)).map((path) => path.slice(folder.length + 1)))

const PNPM_WORKSPACES = 'pnpm-workspace.yaml'

function globsOf(manifest: PackageJson | undefined, pnpmWorkspaces: string | undefined): readonly string[] | undefined {
  const globs = pnpmWorkspaces === undefined ? undefined : pnpmGlobsIn(pnpmWorkspaces)
  return globs ?? manifest?.workspaces
}

const TEXT_LENGTH = 100_000

/** The list `packages` of a pnpm-workspace.yaml, in block or inline form. */
function pnpmGlobsIn(text: string): string[] | undefined {
  const lines = text.slice(0, TEXT_LENGTH).split(/\r?\n/)
  const start = lines.findIndex((line) => line.startsWith('packages:'))
  if (start < 0) return undefined
  const [, inline] = /^packages:\s*\[([^\]]*)\]/.exec(lines[start] ?? '') ?? []
  if (inline !== undefined) return inline.split(',').map(unquote).filter(Boolean)
  const rest = lines.slice(start + 1)
  const end = rest.findIndex((line) => /^[^\s#-]/.test(line))
  const items = rest.slice(0, end < 0 ? undefined : end).filter((line) => /^\s*-\s/.test(line))
  return items.map((line) => unquote(line.replace(/^\s*-/, ''))).filter(Boolean)
}

function unquote(text: string): string {
  const trimmed = text.trim()
  const [, quoted] = /^(?:'([^']*)'|"([^"]*)")/.exec(trimmed)?.filter((part) => part !== undefined) ?? []
  return quoted ?? trimmed.replace(/\s#.*$/, '').trim()
}

async function readMembers(
  source: Source,
  folder: string,
  files: ReadonlySet<string>,
  globs: readonly string[],
): Promise<Member[] | undefined> {
  const folders = [...files].filter((path) => path.endsWith('/package.json')).map((path) => posix.dirname(path))
  if (folders.length > MAX_MEMBERS) return undefined
  const members: Member[] = []
  for (const inner of folders.filter((inner) => matchesGlobs(globs, inner))) {
    const packageJson = await readManifest(source, files, inner, folder)
    if (packageJson) members.push({ folder: inner, packageJson })
  }
  return members
}

/** Undefined for one that cannot be parsed: the package manager reports what is wrong with it. */
async function readManifest(
  source: Source,
  found: ReadonlySet<string>,
  folder: string,
  above = '',
): Promise<PackageJson | undefined> {
  const path = posix.join(folder, 'package.json')
  const text = found.has(path) ? await source.read(posix.join(above, path)) : undefined
  if (text === undefined) return undefined
  try {
    return parsePackageJson(text, path)
  } catch {
    return undefined
  }
}
