/**
 * The files that git tracks. Only the index is read (gitformat-index(5), versions 2 to 4), and git itself is not started: the
 * settings of a repository of another person can name programs that git would run. An index of another form, or a damaged one,
 * counts as empty.
 */
import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { NotPlain, readSmallFile } from '../project/small-files.ts'

const MAX_INDEX_BYTES = 128 * 1024 * 1024
const MAX_FILE_BYTES = 1024 * 1024
/** Times, device, owner, mode and size of a file; its object id; flags. */
const FACTS_BYTES = 40
const ID_BYTES = 20
const HEAD_BYTES = 12

export type GitIndex = {
  /** Whether the content of a file is what git has under this path, relative to the top of the repository. */
  hasContent(path: string, file: string): Promise<boolean>
}

/** The index of the repository with this top folder. */
export async function openGitIndex(top: string): Promise<GitIndex> {
  const content = await read(join(await folderOf(top), 'index'), MAX_INDEX_BYTES)
  const ids = content ? idsIn(content) : new Map<string, string>()
  return {
    async hasContent(path, file) {
      const id = ids.get(path)
      const found = id === undefined ? undefined : await read(file, MAX_FILE_BYTES)
      return found !== undefined && idOf(found) === id
    },
  }
}

/** `.git`, or the folder that a file of that name points to, as in a worktree and in a submodule. */
async function folderOf(top: string): Promise<string> {
  const link = await read(join(top, '.git'), 4096)
  const [, folder] = /^gitdir: (.+?)\r?\n?$/.exec(link?.toString('utf8') ?? '') ?? []
  return folder === undefined ? join(top, '.git') : resolve(top, folder)
}

async function read(file: string, maxBytes: number): Promise<Buffer | undefined> {
  try {
    return (await readSmallFile(file, { maxBytes }))?.content
  } catch (error) {
    if (error instanceof NotPlain) return undefined
    throw error
  }
}

/** The object id of a blob. */
export const idOf = (content: Buffer): string =>
  createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')

/** A file in the index: its content's id, and what the file system knows of it. */
export type Indexed = {
  id: string
  mtimeSeconds: number
  mtimeNanoseconds: number
  bytes: number
  /** As in a git tree: type and permissions. */
  mode: number
  /** `git add --intent-to-add`: announced, and not added yet. */
  isIntended: boolean
  /** Skip-worktree: it is not in the working tree on purpose. */
  isLeftOut: boolean
}

export const idsIn = (index: Buffer): Map<string, string> =>
  new Map([...readIndex(index)].map(([path, { id }]) => [path, id]))

/** By path, without files in conflict. */
export function readIndex(index: Buffer): Map<string, Indexed> {
  const files = new Map<string, Indexed>()
  try {
    if (index.toString('latin1', 0, 4) !== 'DIRC') return files
    const version = index.readUInt32BE(4)
    const count = index.readUInt32BE(8)
    if (version < 2 || version > 4) return files
    let name: Buffer = Buffer.alloc(0)
    let nameBytes = 0
    let at = HEAD_BYTES
    for (let entry = 0; entry < count; entry++) {
      const idAt = at + FACTS_BYTES
      const flags = index.readUInt16BE(idAt + ID_BYTES)
      const more = (flags & EXTENDED) === 0 ? 0 : index.readUInt16BE(idAt + ID_BYTES + 2)
      const nameAt = idAt + ID_BYTES + ((flags & EXTENDED) === 0 ? 2 : 4)
      const kept = version === 4 ? lengthAt(index, nameAt) : { length: name.length, next: nameAt }
      const end = index.indexOf(0, kept.next)
      if (end < 0 || kept.length > name.length) return files
      name = Buffer.concat([name.subarray(0, name.length - kept.length), index.subarray(kept.next, end)])
      nameBytes += name.length
      // In version 4 a few bytes can expand to a long name.
      if (name.length > MAX_NAME_BYTES || nameBytes > MAX_NAMES_BYTES) return files
      if ((flags & STAGE) === 0) {
        files.set(name.toString('utf8'), {
          id: index.toString('hex', idAt, idAt + ID_BYTES),
          mtimeSeconds: index.readUInt32BE(at + 8),
          mtimeNanoseconds: index.readUInt32BE(at + 12),
          bytes: index.readUInt32BE(at + 36),
          mode: index.readUInt32BE(at + 24),
          isIntended: (more & INTENT_TO_ADD) !== 0,
          isLeftOut: (more & SKIP_WORKTREE) !== 0,
        })
      }
      // An entry of the older versions is padded to a multiple of 8.
      at = version === 4 ? end + 1 : at + ((end - at + 8) & ~7)
    }
    return files
  } catch (error) {
    if (error instanceof RangeError) return files
    throw error
  }
}

/** The longest path on Linux; and the limit of all of them together. */
const MAX_NAME_BYTES = 4096
const MAX_NAMES_BYTES = 256 * 1024 * 1024

const EXTENDED = 0x4000
const SKIP_WORKTREE = 0x4000
const INTENT_TO_ADD = 0x2000
/** Of a conflict; 0 where there is none. */
const STAGE = 0x3000

/** How much of the previous name is dropped: seven bits a byte, the highest bit says that there are more. */
function lengthAt(index: Buffer, start: number): { length: number; next: number } {
  let next = start
  let byte = index.readUInt8(next++)
  let length = byte & 127
  while (byte >= 128) {
    byte = index.readUInt8(next++)
    length = (length + 1) * 128 + (byte & 127)
  }
  return { length, next }
}
