/**
 * What changed since the last build that succeeded: the first question after a failure. Pure. Only the names of variables are
 * shown, since their values may be secrets.
 */

/** The inputs of a build. A digest may be any string that differs when the content does. */
export type BuildFacts = {
  archive: string
  /** The exact version; null where nothing was run. */
  node: string | null
  /** As in `npm 11.6.2`; null where nothing was installed. */
  packageManager: string | null
  lockfile: string | null
  variables: Readonly<Record<string, string>>
  rootDirectory: string
  /** Digests of the source files by path; null where they were not kept. */
  files: Readonly<Record<string, string>> | null
  isClean: boolean
}

/** All are counted, and the first few are named. */
export type Names = { count: number; names: string[] }
type Differences<T> = { added: T; removed: T; changed: T }

export type Change =
  | { what: 'node' | 'packageManager' | 'rootDirectory'; from: string | null; to: string | null }
  | { what: 'lockfile'; how: 'added' | 'removed' | 'changed' }
  | ({ what: 'variables' } & Differences<string[]>)
  | ({ what: 'files' } & Differences<Names>)
  | { what: 'archive' }
  | { what: 'caches'; isClean: boolean }

const FILES_NAMED = 10
const VARIABLES_NAMED = 20

export function changesSince(now: BuildFacts, lastGood: BuildFacts): Change[] {
  return [
    ...(['node', 'packageManager', 'rootDirectory'] as const).flatMap((what) =>
      now[what] === lastGood[what] ? [] : [{ what, from: lastGood[what], to: now[what] }],
    ),
    ...lockfileChange(now.lockfile, lastGood.lockfile),
    ...variableChange(now.variables, lastGood.variables),
    ...sourceChange(now, lastGood),
    ...(now.isClean === lastGood.isClean ? [] : [{ what: 'caches' as const, isClean: now.isClean }]),
  ]
}

function lockfileChange(now: string | null, before: string | null): Change[] {
  if (now === before) return []
  return [{ what: 'lockfile', how: before === null ? 'added' : now === null ? 'removed' : 'changed' }]
}

function variableChange(now: BuildFacts['variables'], before: BuildFacts['variables']): Change[] {
  const differences = differencesOf(now, before)
  return Object.values(differences).every((names) => names.length === 0) ? [] : [{ what: 'variables', ...differences }]
}

/** Different archives may have the same files: a zip also has times and an order. */
function sourceChange(now: BuildFacts, before: BuildFacts): Change[] {
  if (now.archive === before.archive) return []
  if (now.files === null || before.files === null) return [{ what: 'archive' }]
  const { added, removed, changed } = differencesOf(now.files, before.files)
  if (added.length + removed.length + changed.length === 0) return []
  return [{ what: 'files', added: few(added), removed: few(removed), changed: few(changed) }]
}

function differencesOf(now: Readonly<Record<string, string>>, before: Readonly<Record<string, string>>) {
  const names = Object.keys(now)
  return {
    added: names.filter((name) => !Object.hasOwn(before, name)).sort(),
    removed: Object.keys(before)
      .filter((name) => !Object.hasOwn(now, name))
      .sort(),
    changed: names.filter((name) => Object.hasOwn(before, name) && before[name] !== now[name]).sort(),
  }
}

const few = (names: readonly string[]): Names => ({ count: names.length, names: names.slice(0, FILES_NAMED) })

/** One sentence for each change. */
export function describeChanges(changes: readonly Change[]): string[] {
  if (changes.length > 0) return changes.flatMap(inWords)
  return [
    'No known input changed since the last good build: look at the CMS, the registry or other services that it uses.',
  ]
}

const TITLES = { node: 'Node.js', packageManager: 'The package manager', rootDirectory: 'The root directory' }

function inWords(change: Change): string[] {
  switch (change.what) {
    case 'node':
    case 'packageManager':
    case 'rootDirectory':
      return [`${TITLES[change.what]} changed from ${change.from || 'none'} to ${change.to || 'none'}.`]
    case 'lockfile':
      return [`The lockfile was ${change.how}.`]
    case 'variables':
      return [`Shell variables: ${listOf(change, variablesInWords)}.`]
    case 'files':
      return [`Source files: ${listOf(change, namesInWords)}.`]
    case 'archive':
      return ['The archive changed.']
    case 'caches':
      return [
        change.isClean
          ? 'This build began without caches, the last good one with them.'
          : 'This build began with caches, the last good one without them.',
      ]
  }
}

function listOf<T extends string[] | Names>(
  { added, removed, changed }: Differences<T>,
  format: (names: T) => string,
): string {
  return Object.entries({ added, removed, changed })
    .filter(([, of]) => (Array.isArray(of) ? of.length : of.count) > 0)
    .map(([how, of]) => `${how} ${format(of)}`)
    .join('; ')
}

function variablesInWords(names: readonly string[]): string {
  const more = names.length - VARIABLES_NAMED
  return names.slice(0, VARIABLES_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

function namesInWords({ count, names }: Names): string {
  const more = count - names.length
  return `${count} (${names.join(', ')}${more > 0 ? ` and ${more} more` : ''})`
}
