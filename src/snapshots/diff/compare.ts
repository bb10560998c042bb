/**
 * What changed between two snapshots: which addresses were asked for by one of them only, and which answers differ, down to the
 * values of JSON. Items of lists are matched by their ids, so that a new post is one change and not a change of all after it.
 * Everything that is shown is bounded. Pure, but for reading bodies.
 */

export type Entry = {
  key: string
  loose: string
  method: string
  url: string
  query?: string
  status: number
  headers: [string, string][]
  at: number
  length: number
  digest: string
}

export type Content = { entries: ReadonlyMap<string, Entry>; bodyOf(entry: Entry): Promise<string> }

export type Asked = { method: string; url: string; query?: string; status: number }

/** A value of JSON that differs; `before` or `after` is missing where it is new or gone. Both are cut off where they are long. */
export type Change = { path: string; before?: string; after?: string }

export type ChangedAnswer = Omit<Asked, 'status'> & {
  statusBefore: number
  statusAfter: number
  changes: Change[]
  /** How many more there are. */
  moreChanges: number
  /** Ids of the content that changed, as `i:wp:post:12`-like systems have them, where the JSON has some. */
  ids: string[]
}

export type Difference = {
  counts: { added: number; removed: number; changed: number; unchanged: number }
  added: Asked[]
  removed: Asked[]
  changed: ChangedAnswer[]
}

const MAX_LISTED = 200
const MAX_CHANGES = 20
const MAX_IDS = 20
const MAX_VALUE = 200
/** A larger body is compared as a whole. */
const MAX_JSON = 8 * 1024 ** 2
const MAX_DEPTH = 60

/** By what is the same in every build: credentials may change. The last one of a key counts. */
export const latestOf = (entries: readonly Entry[]): Map<string, Entry> =>
  new Map(entries.map((entry) => [entry.loose, entry]))

export async function compareContent(before: Content, after: Content): Promise<Difference> {
  const added = [...after.entries].filter(([key]) => !before.entries.has(key)).map(([, entry]) => entry)
  const removed = [...before.entries].filter(([key]) => !after.entries.has(key)).map(([, entry]) => entry)
  const both = [...before.entries].flatMap(([key, first]) => {
    const second = after.entries.get(key)
    return second ? [{ first, second }] : []
  })
  const differing = both.filter(({ first, second }) => first.digest !== second.digest || first.status !== second.status)
  const changed: ChangedAnswer[] = []
  for (const { first, second } of differing.toSorted((a, b) => byUrl(a.first, b.first)).slice(0, MAX_LISTED)) {
    const [one, other] = [await jsonOf(before, first), await jsonOf(after, second)]
    const found = (one && other && within(() => changesIn(one.value, other.value))) ?? NONE
    const { status, ...asked } = toAsked(first)
    changed.push({
      ...asked,
      statusBefore: status,
      statusAfter: second.status,
      changes: found.changes,
      moreChanges: found.more,
      ids: found.ids,
    })
  }
  const listed = (entries: readonly Entry[]) => entries.toSorted(byUrl).slice(0, MAX_LISTED).map(toAsked)
  return {
    counts: {
      added: added.length,
      removed: removed.length,
      changed: differing.length,
      unchanged: both.length - differing.length,
    },
    added: listed(added),
    removed: listed(removed),
    changed,
  }
}

const byUrl = (a: Entry, b: Entry): number => (a.url < b.url ? -1 : a.url > b.url ? 1 : 0)

const toAsked = ({ method, url, query, status }: Entry): Asked => ({
  method,
  url,
  ...(query === undefined ? {} : { query }),
  status,
})

const NONE = { changes: [], more: 0, ids: [] }

/** Undefined for JSON that is too deep for the stack. */
function within<T>(compare: () => T): T | undefined {
  try {
    return compare()
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

async function jsonOf(content: Content, entry: Entry): Promise<{ value: unknown } | undefined> {
  if (entry.length > MAX_JSON) return undefined
  try {
    return { value: JSON.parse(await content.bodyOf(entry)) }
  } catch {
    return undefined
  }
}

export function changesIn(before: unknown, after: unknown): { changes: Change[]; more: number; ids: string[] } {
  const changes: Change[] = []
  const ids = new Set<string>()
  let count = 0

  function add(path: string, id: string | undefined, values: Omit<Change, 'path'>) {
    count += 1
    if (changes.length < MAX_CHANGES) changes.push({ path: cut(path || '(all of it)'), ...values })
    if (id !== undefined && ids.size < MAX_IDS) ids.add(id)
  }

  function walk(one: unknown, other: unknown, at: { path: string; id: string | undefined; depth: number }) {
    if (Object.is(one, other)) return
    const { path, depth } = at
    const id = idOf(other) ?? idOf(one) ?? at.id
    const bothLists = Array.isArray(one) && Array.isArray(other)
    if (depth > MAX_DEPTH || !bothLists) {
      if (depth > MAX_DEPTH || !isPlain(one) || !isPlain(other)) {
        if (JSON.stringify(one) !== JSON.stringify(other)) add(path, id, { before: shown(one), after: shown(other) })
        return
      }
      for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
        const inner = path === '' ? name : `${path}.${name}`
        if (!(name in other)) add(inner, id, { before: shown(one[name]) })
        else if (!(name in one)) add(inner, id, { after: shown(other[name]) })
        else walk(one[name], other[name], { path: inner, id, depth: depth + 1 })
      }
      return
    }
    const [first, second] = [byId(one), byId(other)]
    if (!first || !second) {
      for (let index = 0; index < Math.max(one.length, other.length); index++) {
        const inner = `${path}[${index}]`
        if (index >= other.length) add(inner, id, { before: shown(one[index]) })
        else if (index >= one.length) add(inner, id, { after: shown(other[index]) })
        else walk(one[index], other[index], { path: inner, id, depth: depth + 1 })
      }
      return
    }
    for (const [key, value] of first) {
      const inner = `${path}[${key}]`
      if (second.has(key)) walk(value, second.get(key), { path: inner, id: key, depth: depth + 1 })
      else add(inner, key, { before: shown(value) })
    }
    for (const [key, value] of second) if (!first.has(key)) add(`${path}[${key}]`, key, { after: shown(value) })
    const common = (keys: Iterable<string>, others: Map<string, unknown>) => [...keys].filter((key) => others.has(key))
    const [order, now] = [common(first.keys(), second).join(' '), common(second.keys(), first).join(' ')]
    if (order !== now) add(path, id, { before: cut(`order ${order}`), after: cut(`order ${now}`) })
  }

  walk(before, after, { path: '', id: undefined, depth: 0 })
  return { changes, more: Math.max(0, count - changes.length), ids: [...ids] }
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The names that WordPress, WPGraphQL, Contentful, Sanity and Strapi give to ids. */
function idOf(value: unknown): string | undefined {
  if (!isPlain(value)) return undefined
  const sys = isPlain(value.sys) ? value.sys.id : undefined
  const inNode = isPlain(value.node) ? idOf(value.node) : undefined
  const found = sys ?? value._id ?? value.documentId ?? value.databaseId ?? value.id ?? inNode
  return typeof found === 'string' || typeof found === 'number' ? cut(String(found)) : undefined
}

/** Undefined unless each item has an id of its own. */
function byId(list: readonly unknown[]): Map<string, unknown> | undefined {
  const found = new Map<string, unknown>()
  for (const item of list) {
    const id = idOf(item)
    if (id === undefined || found.has(id)) return undefined
    found.set(id, item)
  }
  return found
}

const shown = (value: unknown): string => cut(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

const cut = (text: string): string => (text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text)
