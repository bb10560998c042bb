/**
 * What an archive must be before it is accepted, and again before any use of it. In this order: the end of the file, the
 * directory, the headers in front of the data, the names as a tree, the links.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { Problem } from '../contract/index.ts'
import { readContent } from './content.ts'
import { type Entry, readDirectory } from './directory.ts'
import type { ArchiveLimits } from './limits.ts'
import { decodeUtf8 } from './names.ts'
import { unsafe } from './refusals.ts'
import { type Selected, type Selection, select } from './select.ts'
import { follow, growTree } from './tree.ts'
import { openWindow } from './window.ts'

/** Linux makes no longer ones. */
const MAX_LINK_BYTES = 4095
/** Steps of all links together, for each entry that is allowed: every step costs a look-up, and packs to almost nothing. */
const MAX_LINK_STEPS_PER_ENTRY = 10

/** `target` is what the link says, `leadsTo` a path relative to the app. */
export type Link = Selected<Entry> & { target: string; leadsTo: string }

export type Contents = Pick<Selection<Entry>, 'skipped' | 'strippedFolder'> & {
  files: Selected<Entry>[]
  /** Those that are entries of their own; others follow from the paths of the files. */
  folders: Selected<Entry>[]
  links: Link[]
}

/** Opens an archive, checks it, and hands it out for as long as `use` takes. */
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
  const of = (kind: Entry['kind']) => selected.filter(({ entry }) => entry.kind === kind)
  const [files, folders] = [of('file'), of('folder')]
  if (files.length === 0) throw new Problem('ARCHIVE_EMPTY')
  const tree = await growTree(selected, limits)
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

async function readTarget(file: FileHandle, entry: Entry): Promise<string> {
  if (entry.bytes > MAX_LINK_BYTES) throw unsafe(entry.name, 'a link with too long a target')
  const target = decodeUtf8(await readContent(file, entry))
  if (target === undefined) throw unsafe(entry.name, 'a link whose target is not UTF-8')
  return target
}
