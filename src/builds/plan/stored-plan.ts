/**
 * Checks a plan that was read from a stored record, such as that of a backup. A plan decides what is mounted where, so each
 * of its paths must stay inside the folder that it is relative to.
 */
import semver from 'semver'
import type { Exact } from '../toolchain/exact.ts'
import type { Plan } from './plan.ts'

/** Throws unless every path in it leads down. Plans of earlier versions may lack fields. */
export function checkPlan(plan: Plan) {
  const { rootDirectory, output, install, caches } = plan
  checkPaths('rootDirectory', [rootDirectory])
  checkPaths('caches', [...listOf(caches?.compile), ...listOf(caches?.data)])
  if (install) checkPaths('install', [install.folder ?? '', ...listOf(install.inputs)])
  checkPaths('output', [output.folder])
  if (output.kind === 'static') checkPaths('output', listOf(output.candidates))
  else if (output.kind === 'server') {
    checkPaths(
      'copies',
      listOf(output.copies).flatMap(({ from, to }) => [from, to]),
    )
    checkPaths('writable', listOf(output.writable))
    checkPaths(
      'assets',
      listOf(output.assets).map(({ folder }) => folder),
    )
    checkWords('start', output.start.argv)
  } else throw new Error('a stored plan has an output of an unknown kind')
}

function listOf<T>(value: readonly T[] | null | undefined): readonly T[] {
  if (value !== null && value !== undefined && !Array.isArray(value)) throw new Error('a stored plan is malformed')
  return value ?? []
}

const MANAGERS: readonly string[] = ['npm', 'pnpm', 'yarn', 'bun'] satisfies NonNullable<
  Exact['packageManager']
>['name'][]

/** Throws unless they are exact versions, since they become names of folders. */
export function checkTools({ node, packageManager }: Exact) {
  const versions = [node, ...(packageManager ? [packageManager.version] : [])]
  const isKnown = packageManager === null || MANAGERS.includes(packageManager.name)
  if (!isKnown || !versions.every((version) => typeof version === 'string' && semver.valid(version) === version))
    throw new Error('stored tools are not exact versions')
}

/** A relative path without `..`; empty or `.` for the top itself. */
const leadsDown = (path: unknown): boolean =>
  typeof path === 'string' && !path.startsWith('/') && !path.includes('\0') && !path.split('/').includes('..')

function checkPaths(what: string, paths: readonly unknown[]) {
  for (const path of paths)
    if (!leadsDown(path))
      throw new Error(`a stored plan has a path that leads out: ${what} has ${JSON.stringify(path)}`)
}

function checkWords(what: string, words: unknown) {
  if (!Array.isArray(words) || !words.every((word) => typeof word === 'string' && !word.includes('\0')))
    throw new Error(`a stored plan has no list of words in ${what}`)
}
