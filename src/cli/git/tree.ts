/** The id of the tree that git would write of an index (gitformat-index(5), git-write-tree(1)). */
import { createHash } from 'node:crypto'
import type { Indexed } from '../archive/git-index.ts'

type TreeEntry = { mode: number; id: Buffer }
type Folder = Map<string, TreeEntry | Folder>

const TREE_MODE = 0o40000

export function treeIdOf(files: ReadonlyMap<string, Indexed>): string {
  const top: Folder = new Map()
  for (const [path, { mode, id, isIntended }] of files) {
    if (!isIntended) insert(top, path.split('/'), { mode, id: Buffer.from(id, 'hex') })
  }
  return idOf(top).toString('hex')
}

/** In a sparse index a whole folder may be one entry, which ends in a slash. */
function insert(top: Folder, steps: readonly string[], entry: TreeEntry) {
  const names = steps.at(-1) === '' ? steps.slice(0, -1) : steps
  let folder = top
  for (const step of names.slice(0, -1)) {
    const found = folder.get(step)
    const next: Folder = found instanceof Map ? found : new Map()
    folder.set(step, next)
    folder = next
  }
  folder.set(names.at(-1) ?? '', entry)
}

/** Sorted by bytes, folders as if their names ended in a slash. */
function idOf(folder: Folder): Buffer {
  const entries = [...folder].map(([name, found]) => {
    const { mode, id } = found instanceof Map ? { mode: TREE_MODE, id: idOf(found) } : found
    const key = Buffer.from(mode === TREE_MODE ? `${name}/` : name)
    return { key, line: Buffer.concat([Buffer.from(`${mode.toString(8)} ${name}\0`), id]) }
  })
  const content = Buffer.concat(entries.sort((a, b) => a.key.compare(b.key)).map(({ line }) => line))
  return createHash('sha1').update(`tree ${content.length}\0`).update(content).digest()
}
