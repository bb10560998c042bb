/**
 * Checks an archive before it is accepted, and again before each use. In this order: the end of the file, the directory, the
 * local headers, the names as a tree, the links.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { Problem } from '../contract/index.ts'
import { readContent } from './content.ts'
import { readDirectory, type ZipEntry } from './directory.ts'
import type { ArchiveLimits } from './limits.ts'
import { decodeUtf8 } from './names.ts'
import { unsafe } from './refusals.ts'
import { type Selected, type Selection, select } from './select.ts'
import { buildTree, follow } from './tree.ts'
import { openWindow } from './window.ts'

/** The longest that Linux allows. */
const MAX_LINK_BYTES = 4095
/** Path segments of all links together, per allowed entry: each costs a look-up and compresses to almost nothing. */
const MAX_LINK_STEPS_PER_ENTRY = 10

/** `target` is the text of the link, `leadsTo` a path relative to the app. */
export type Link = Selected<ZipEntry> & { target: string; leadsTo: string }

export type Contents = Pick<Selection<ZipEntry>, 'skipped' | 'strippedFolder'> & {
  files: Selected<ZipEntry>[]
  /** Folders that have an entry; others follow from the paths of the files. */
  folders: Selected<ZipEntry>[]
  links: Link[]
}

/** Opens an archive, checks it, and closes it after `use`. */
export async function withArchive<T>(
  path: string,
  limits: ArchiveLimits,
  use: (contents: Contents, file: FileHandle) => Promise<T> | T,
): Promise<T> {
  const file = await open(path)
  try {
    return await use(await check(file, limits), file)
  } finally {
    await file.close()
  }
}

async function check(file: FileHandle, limits: ArchiveLimits): Promise<Contents> {
  const entries = await readDirectory(await openWindow(file), limits)
  const { selected, skipped, strippedFolder } = await select(entries)
  const of = (kind: ZipEntry['kind']) => selected.filter(({ entry }) => entry.kind === kind)
  const [files, folders] = [of('file'), of('folder')]
  if (files.length === 0) throw new Problem('ARCHIVE_EMPTY')
  const tree = await buildTree(selected, limits)
  const links: Link[] = []
  let steps = 0
  for (const link of of('link')) {
    const target = await readTarget(file, link.entry)
    steps += target.split('/').length
    if (steps > MAX_LINK_STEPS_PER_ENTRY * limits.entries) throw unsafe(link.entry.name, 'links of too many steps')
    links.push({ ...link, target, leadsTo: follow(tree, link, target) })
  }
  return { files, folders, links, skipped, strippedFolder }
}

async function readTarget(file: FileHandle, entry: ZipEntry): Promise<string> {
  if (entry.bytes > MAX_LINK_BYTES) throw unsafe(entry.name, 'a link with too long a target')
  const target = decodeUtf8(await readContent(file, entry))
  if (target === undefined) throw unsafe(entry.name, 'a link whose target is not UTF-8')
  return target
}
