/**
 * Whether files that are sent differ from a commit, without starting git: files against the index, and the index against
 * the tree of the commit. A file whose time and size are those of the index is as git left it, as git itself decides it.
 */
import { lstat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { SourceFile } from '../archive/files.ts'
import { type Indexed, idOf, readIndex } from '../archive/git-index.ts'
import { NotPlain, readSmallFile } from '../project/small-files.ts'
import { readPlain } from './head.ts'
import { treeIdOf } from './tree.ts'

const MAX_INDEX_BYTES = 128 * 1024 * 1024
/** Files that git would have to read, too. What is larger is not read, and it is not known whether it differs. */
const MAX_FILE_BYTES = 16 * 1024 * 1024
const MAX_TOTAL_BYTES = 256 * 1024 * 1024
const AT_A_TIME = 64

type Place = { top: string; index: string }

/** `commit` is the content of the commit object. Undefined where it cannot be known. */
export async function isChanged(
  { top, index }: Place,
  commit: Buffer | undefined,
  { folder, files }: { folder: string; files: readonly SourceFile[] },
): Promise<boolean | undefined> {
  const found = await readIndexFile(index)
  if (!found) return undefined
  const { indexed, writtenMs } = found
  const prefix = folder === top ? '' : `${relative(top, folder).split(sep).join('/')}/`
  let isKnown = true
  let bytesLeft = MAX_TOTAL_BYTES

  async function look(file: SourceFile): Promise<'same' | 'other' | 'unknown'> {
    const entry = indexed.get(`${prefix}${file.path}`)
    if (!entry) return 'other'
    // A link may be sent with another target than it has.
    if (file.target !== undefined || (await isAsLeft(file, entry, writtenMs))) return 'same'
    bytesLeft -= file.bytes
    if (file.bytes > MAX_FILE_BYTES || bytesLeft < 0) return 'unknown'
    const content = await readPlain(file.from, MAX_FILE_BYTES)
    return content && hasId(content, entry.id) ? 'same' : 'other'
  }

  for (let from = 0; from < files.length; from += AT_A_TIME) {
    const looked = await Promise.all(files.slice(from, from + AT_A_TIME).map(look))
    if (looked.includes('other')) return true
    if (looked.includes('unknown')) isKnown = false
  }
  if (await isAnyGone(top, missingFrom(indexed, prefix, files))) return true
  const [, committed] = /^tree ([0-9a-f]{40})\n/.exec(commit?.toString('latin1', 0, 64) ?? '') ?? []
  if (committed === undefined || !isKnown) return undefined
  if (committed === treeIdOf(indexed)) return false
  // Below the top of a repository, the staged changes may be in another folder.
  return prefix === '' ? true : undefined
}

async function readIndexFile(file: string) {
  try {
    const found = await readSmallFile(file, { maxBytes: MAX_INDEX_BYTES })
    if (!found) return undefined
    const indexed = readIndex(found.content)
    return indexed.size === 0 ? undefined : { indexed, writtenMs: found.facts.mtimeMs }
  } catch (error) {
    if (error instanceof NotPlain) return undefined
    throw error
  }
}

/** A file that was changed in the moment when the index was written can look the same: then its content decides. */
async function isAsLeft({ from }: SourceFile, entry: Indexed, writtenMs: number): Promise<boolean> {
  const { mtimeNs, size } = await lstat(from, { bigint: true })
  const mtime = BigInt(entry.mtimeSeconds) * 1_000_000_000n + BigInt(entry.mtimeNanoseconds)
  return mtimeNs === mtime && size === BigInt(entry.bytes) && Number(mtime / 1_000_000n) < Math.floor(writtenMs)
}

/** Also with LF line ends, as git stores them where a checkout converts to CRLF. */
const hasId = (content: Buffer, id: string): boolean =>
  idOf(content) === id ||
  (content.includes('\r\n') && idOf(Buffer.from(content.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')) === id)

function missingFrom(indexed: ReadonlyMap<string, Indexed>, prefix: string, files: readonly SourceFile[]): string[] {
  const sent = new Set(files.map(({ path }) => `${prefix}${path}`))
  return [...indexed].flatMap(([path, { mode, isLeftOut }]) =>
    path.startsWith(prefix) && !sent.has(path) && isFile(mode) && !isLeftOut ? path : [],
  )
}

/** Or a link; and no submodule or folder of a sparse index. */
const isFile = (mode: number): boolean => (mode & 0o170000) === 0o100000 || (mode & 0o170000) === 0o120000

/** A file that the ignore rules leave out still exists; a deleted one does not. */
async function isAnyGone(top: string, paths: readonly string[]): Promise<boolean> {
  for (let from = 0; from < paths.length; from += AT_A_TIME) {
    const looked = await Promise.all(
      paths.slice(from, from + AT_A_TIME).map((path) =>
        lstat(join(top, path)).then(
          () => false,
          (error: NodeJS.ErrnoException) => error.code === 'ENOENT' || error.code === 'ENOTDIR',
        ),
      ),
    )
    if (looked.includes(true)) return true
  }
  return false
}
