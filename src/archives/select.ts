/**
 * Which entries are unpacked, and where to; listing, reading and unpacking share this. A single folder that contains
 * everything is removed from the paths; `node_modules`, `.git` and the files of macOS Finder are skipped.
 */
import { inTurns } from '../base/index.ts'
import type { ZipEntry } from './directory.ts'

/** The folder around everything in archives that the service makes itself: no one needs to know that it is taken off. */
export const OWN_FOLDER = 'headland-source'

/** `path` is relative to the app. */
export type Selected<E> = { path: string; entry: E }

export type Selection<E> = {
  selected: Selected<E>[]
  /** Files left out, folders not counted. */
  skipped: { nodeModules: number; git: number }
  strippedFolder: string | undefined
}

export async function select<E extends Pick<ZipEntry, 'name' | 'kind'>>(entries: readonly E[]): Promise<Selection<E>> {
  const wanted: E[] = []
  for await (const some of inTurns(entries)) wanted.push(...some.filter(({ name }) => !isLitter(name)))
  const strippedFolder = folderAround(wanted)
  const skipped = { nodeModules: 0, git: 0 }
  const selected: Selected<E>[] = []
  for await (const some of inTurns(wanted)) {
    for (const entry of some) {
      const path = strippedFolder === undefined ? entry.name : entry.name.slice(strippedFolder.length + 1)
      if (path === '') continue
      const reason = skips(path)
      if (reason === undefined) selected.push({ path, entry })
      else if (entry.kind !== 'folder') skipped[reason]++
    }
  }
  return { selected, skipped, strippedFolder: strippedFolder === OWN_FOLDER ? undefined : strippedFolder }
}

const isLitter = (name: string): boolean => /^__MACOSX(\/|$)|(^|\/)\.DS_Store$/.test(name)

function skips(path: string): keyof Selection<ZipEntry>['skipped'] | undefined {
  const [, segment] = /(?:^|\/)(node_modules|\.git)(?:\/|$)/.exec(path) ?? []
  if (segment === undefined) return undefined
  return segment === '.git' ? 'git' : 'nodeModules'
}

/** A `node_modules` or `.git` at the top means that the top of the archive is the top of the app. */
function folderAround(entries: readonly Pick<ZipEntry, 'name' | 'kind'>[]): string | undefined {
  const [folder = ''] = (entries[0]?.name ?? '').split('/')
  const isAround = entries.every(
    ({ name, kind }) => name.startsWith(`${folder}/`) || (name === folder && kind === 'folder'),
  )
  return folder === '' || !isAround || skips(folder) !== undefined ? undefined : folder
}
