/**
 * Whether a folder matches a list of globs, as package managers define workspaces. Globs and folders are untrusted, so globs
 * that would take long are ignored.
 */

const MAX_GLOBS = 200
const MAX_GLOB_LENGTH = 200
const MAX_ALTERNATIVES = 30

const MAX_BRACES = 3

/** Globs with `*`, `?`, `**` and a few `{a,b}`, but without character classes and extended patterns. */
const UNDERSTOOD = /^[^[\]()|\\]*$/

/** A glob with `!` excludes a folder, wherever it is in the list. */
export function matchesGlobs(globs: readonly string[], folder: string): boolean {
  const path = folder.split('/')
  let isIn = false
  for (const glob of globs.slice(0, MAX_GLOBS)) {
    const isExcluding = glob.startsWith('!')
    if (!alternativesOf(glob.replace(/^!/, '')).some((pattern) => matches(pattern, path))) continue
    if (isExcluding) return false
    isIn = true
  }
  return isIn
}

/** Whether every glob of the list is interpreted as package managers do. */
export const areUnderstood = (globs: readonly string[]): boolean =>
  globs.length <= MAX_GLOBS && globs.every(isUnderstood)

const isUnderstood = (glob: string): boolean =>
  glob.length <= MAX_GLOB_LENGTH && UNDERSTOOD.test(glob) && glob.split('{').length <= MAX_BRACES + 1

/** With the braces expanded, as segments. */
function alternativesOf(glob: string): string[][] {
  if (glob.length > MAX_GLOB_LENGTH) return []
  let open = [glob.replace(/^(?:\.\/)+/, '').replace(/\/+$/, '')]
  for (let round = 0; round < MAX_BRACES && open.some((each) => each.includes('{')); round += 1)
    open = open.flatMap(expandFirst).slice(0, MAX_ALTERNATIVES)
  return open.map((each) => each.split('/').filter((segment) => segment !== ''))
}

function expandFirst(glob: string): string[] {
  const [all = '', before = '', inside = '', after = ''] = /^([^{]*)\{([^{}]*)\}(.*)$/s.exec(glob) ?? []
  return all === '' ? [glob] : inside.split(',').map((choice) => before + choice + after)
}

/** Tracks the set of positions in the pattern that the path can have reached. */
function matches(pattern: readonly string[], path: readonly string[]): boolean {
  let places = throughStars(pattern, new Set([0]))
  for (const segment of path) {
    const next = new Set<number>()
    for (const place of places) {
      const part = pattern[place]
      if (part === '**') next.add(place)
      else if (part !== undefined && matchesSegment(part, segment)) next.add(place + 1)
    }
    places = throughStars(pattern, next)
  }
  return places.has(pattern.length)
}

/** `**` also matches no segment. */
function throughStars(pattern: readonly string[], places: Set<number>): Set<number> {
  for (const place of places) if (pattern[place] === '**') places.add(place + 1)
  return places
}

/** Backtracks only to the last star, which is sufficient. */
function matchesSegment(part: string, text: string): boolean {
  if (part === '*') return !text.startsWith('.')
  let [at, from, star, mark] = [0, 0, -1, 0]
  while (from < text.length) {
    if (part[at] === '*') [star, mark, at] = [at, from, at + 1]
    else if (at < part.length && (part[at] === '?' || part[at] === text[from])) [at, from] = [at + 1, from + 1]
    else if (star >= 0) [mark, at, from] = [mark + 1, star + 1, mark + 1]
    else return false
  }
  return part.slice(at).replaceAll('*', '') === ''
}
