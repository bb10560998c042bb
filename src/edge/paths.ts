/**
 * The most requested paths of a site, and the most requested ones that it does not have, in a bounded amount of memory.
 * Each list is a Misra–Gries summary: when it is full, a new path decrements every count instead of being added, and
 * counts of zero are removed. So a path that makes up more than one in `pathsOfList` of the requests is always in it,
 * and a visitor cannot fill it with paths that are requested once. A count is never too high.
 */

export type PathCounts = { found: [path: string, requests: number][]; missing: [path: string, requests: number][] }

export type PathLimits = {
  /** Of one environment, found and missing each, between two reports. */
  pathsOfList: number
  /** Of all environments together. */
  pathsOfAll: number
  /** Characters of a path that are kept. */
  pathLength: number
}

export const PATH_LIMITS: PathLimits = { pathsOfList: 64, pathsOfAll: 10_000, pathLength: 200 }

type PathCount = { requests: number }
type List = Map<string, PathCount>

export function createPaths(limits: PathLimits = PATH_LIMITS) {
  let lists = new Map<string, { found: List; missing: List }>()
  let total = 0

  function of(environment: string) {
    const known = lists.get(environment)
    if (known) return known
    const made = { found: new Map(), missing: new Map() }
    lists.set(environment, made)
    return made
  }

  function add(list: List, path: string, isAccepted: (path: string) => boolean) {
    const known = list.get(path)
    if (known) {
      known.requests++
      return
    }
    if (!isAccepted(path)) return
    if (list.size < limits.pathsOfList && total < limits.pathsOfAll) {
      list.set(copyOf(path), { requests: 1 })
      total++
      return
    }
    for (const [each, entry] of list) {
      if (--entry.requests > 0) continue
      list.delete(each)
      total--
    }
  }

  return {
    /** `target` is the path with its query, which is left out. */
    count(environment: string, target: string, status: number) {
      const isFound = (status >= 200 && status < 300) || status === 304
      if (!isFound && status !== 404 && status !== 410) return
      const path = pathOf(target, limits.pathLength)
      const { found, missing } = of(environment)
      if (isFound) add(found, path, isPage)
      else add(missing, path, always)
    },

    /** The counts since the last call, by environment. */
    take(): Map<string, PathCounts> {
      const taken = new Map<string, PathCounts>()
      for (const [environment, { found, missing }] of lists) {
        if (found.size + missing.size > 0) taken.set(environment, { found: pairs(found), missing: pairs(missing) })
      }
      lists = new Map()
      total = 0
      return taken
    },
  }
}

export type Paths = ReturnType<typeof createPaths>

function pathOf(target: string, maxLength: number): string {
  const query = target.indexOf('?')
  const end = query < 0 ? target.length : query
  if (end <= maxLength) return end === target.length ? target : target.slice(0, end)
  return `${target.slice(0, maxLength)}…`
}

/** A slice keeps the whole string in memory: here, all that the request sent. */
const copyOf = (path: string): string => Buffer.from(path).toString()

const pairs = (list: List): [string, number][] => [...list].map(([path, { requests }]) => [path, requests])

const always = () => true

/** Resources that pages load would take the places of the pages. */
function isPage(path: string): boolean {
  if (path.startsWith('/_')) return false
  const dot = path.lastIndexOf('.')
  return dot < 0 || dot < path.lastIndexOf('/') || !LOADED.has(path.slice(dot + 1).toLowerCase())
}

const LOADED: ReadonlySet<string> = new Set(
  [
    'js mjs css map json webmanifest wasm',
    'png jpg jpeg gif svg webp avif ico',
    'woff woff2 ttf otf eot',
    'mp3 mp4 webm',
  ]
    .join(' ')
    .split(' '),
)
