/**
 * The selected entries as a tree of folders and files. Finds names that a file system may take for the same, and paths that
 * go through a link.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { ZipEntry } from './directory.ts'
import type { ArchiveLimits } from './limits.ts'
import { fold } from './names.ts'
import { duplicate, tooLarge, unsafe } from './refusals.ts'
import type { Selected } from './select.ts'

type Node = { spelling: string; kind: ZipEntry['kind']; isEntry: boolean; children: Map<string, Node> }
export type Tree = Node

const folder = (spelling: string): Node => ({ spelling, kind: 'folder', isEntry: false, children: new Map() })

/** So many entries are added before other work of the process gets a turn. */
const ENTRIES_AT_A_TIME = 500

export async function buildTree(selected: readonly Selected<ZipEntry>[], limits: ArchiveLimits): Promise<Tree> {
  const root = folder('')
  let impliedFolders = 0

  function implied(spelling: string): Node {
    if (++impliedFolders > limits.entries) throw tooLarge('entries', limits)
    return folder(spelling)
  }

  for (const [number, { path, entry }] of selected.entries()) {
    if (number % ENTRIES_AT_A_TIME === ENTRIES_AT_A_TIME - 1) await turn()
    const spellings = path.split('/')
    const keys = fold(path).split('/')
    let at = root
    for (const [depth, spelling] of spellings.entries()) {
      const key = keys[depth] ?? ''
      const isLast = depth === spellings.length - 1
      const found = at.children.get(key)
      if (found) checkSameName(found, spelling, isLast, entry)
      const node = found ?? (isLast ? { ...folder(spelling), kind: entry.kind } : implied(spelling))
      if (isLast) node.isEntry = true
      if (!found) at.children.set(key, node)
      at = node
    }
  }
  return root
}

/** A name may occur twice only as the same folder, and only one of the two may be an entry. */
function checkSameName(found: Node, spelling: string, isLast: boolean, { name, kind }: ZipEntry) {
  if (found.spelling !== spelling) throw duplicate(name, 'the same as another name but for case or Unicode form')
  if (!isLast && found.kind === 'link') throw unsafe(name, 'a path through a link')
  if (isLast && found.isEntry) throw duplicate(name, 'appears twice')
  if (found.kind !== 'folder' || (isLast && kind !== 'folder')) {
    if (isLast && kind === 'link') throw unsafe(name, 'a path through a link')
    throw duplicate(name, 'a file and a folder of one name')
  }
}

/** The target of a link, relative to the app; throws if it is outside of the app or leads to another link. */
export function follow(tree: Tree, { path, entry }: Selected<ZipEntry>, target: string): string {
  if (target === '') throw unsafe(entry.name, 'a link to nowhere')
  if (/\p{Cc}/u.test(target)) throw unsafe(entry.name, 'a link with a control character in its target')
  if (target.startsWith('/') || target.includes('\\') || /^[a-z]:/i.test(target)) {
    throw unsafe(entry.name, 'a link to an absolute path')
  }
  const segments = path.split('/').slice(0, -1)
  const nodes: (Node | undefined)[] = [tree]
  for (const segment of segments) nodes.push(nodes.at(-1)?.children.get(fold(segment)))

  for (const step of target.split('/')) {
    if (step === '' || step === '.') continue
    if (step === '..') {
      if (segments.pop() === undefined) throw unsafe(entry.name, 'a link that leaves the archive')
      nodes.pop()
      continue
    }
    segments.push(step)
    nodes.push(nodes.at(-1)?.children.get(fold(step)))
    if (nodes.at(-1)?.kind === 'link') throw unsafe(entry.name, 'a link to a link')
  }
  return segments.join('/')
}
