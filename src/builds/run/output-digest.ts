/** The digest and the size of an output. Refuses an output that is too large. */
import { createHash } from 'node:crypto'
import { createReadStream, type Dirent } from 'node:fs'
import { lstat, opendir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { sortInTurns } from '../../base/index.ts'
import { Problem } from '../../contract/index.ts'
import type { Digest } from '../../storage/index.ts'
import type { Size } from './untrusted-folder.ts'

export type OutputLimits = { files: number; bytes: number }

const AT_A_TIME = 256
/** Files that are read at a time: an output may have hundreds of thousands, and each costs several system calls. */
const READ_AT_A_TIME = 32

type Parts = OutputLimits & {
  isServed: boolean
  /** SHA-256 of the content of a file. */
  read?: (path: string) => Promise<string>
}

/**
 * A digest over the names, kinds and contents of all files. Files of installed packages count with their size only: they
 * follow from the lockfile, which counts in full, and reading them all would take longer than most builds. So the owner counts
 * too: otherwise a tenant could make an output with other packages of the same sizes that another tenant would get. Where
 * visitors get the files themselves (`isServed`), files of packages count like all others. No file is read of an output that
 * has too many files.
 */
export async function digestOf(
  folders: readonly string[],
  owner: string,
  { isServed, read = contentDigest, ...limits }: Parts,
): Promise<{ digest: Digest } & Size> {
  await countAll(folders, limits.files)
  const hash = createHash('sha256').update(`owner ${owner}\n`)
  let [files, bytes] = [0, 0]

  async function walk(top: string, path: string, isInPackage: boolean): Promise<void> {
    const entries: Dirent[] = []
    for await (const entry of await opendir(join(top, path), { bufferSize: AT_A_TIME }).catch(tooDeep)) {
      files += 1
      // Bounds the memory, should a process still write there.
      if (files > limits.files) throw tooLarge('files', limits.files)
      entries.push(entry)
    }
    const sorted = await sortInTurns(entries, ({ name }) => name)
    for (let from = 0; from < sorted.length; from += READ_AT_A_TIME) {
      const some = sorted.slice(from, from + READ_AT_A_TIME)
      const found = await readSome(join(top, path), some, isInPackage)
      for (const entry of some) {
        const inner = join(path, entry.name)
        const file = found.get(entry.name)
        // A name that is not UTF-8 cannot be opened by its decoded form.
        if (isUnreadable(entry)) hash.update(`? ${JSON.stringify(inner)}\n`)
        else if (entry.isDirectory()) {
          hash.update(`d ${JSON.stringify(inner)}\n`)
          await walk(top, inner, isInPackage || (!isServed && entry.name === 'node_modules'))
        } else if (entry.isSymbolicLink())
          hash.update(`l ${JSON.stringify([inner, await readlink(join(top, inner))])}\n`)
        else if (file) hash.update(`f ${JSON.stringify([inner, file.isExecutable ? 'x' : '-', file.content])}\n`)
        // A character device in an upper layer marks a deleted file.
        else if (entry.isCharacterDevice()) hash.update(`- ${JSON.stringify(inner)}\n`)
        // Sockets, fifos and other devices are ignored.
      }
    }
  }

  /** Checks all sizes before the first file is read. */
  async function readSome(folder: string, entries: readonly Dirent[], isInPackage: boolean) {
    const ordinary = entries.filter((entry) => entry.isFile() && !isUnreadable(entry))
    const sized = await Promise.all(
      ordinary.map(async ({ name }) => {
        const { size, mode } = await lstat(join(folder, name))
        return { name, size, isExecutable: (mode & 0o111) !== 0 }
      }),
    )
    bytes += sized.reduce((sum, { size }) => sum + size, 0)
    if (bytes > limits.bytes) throw tooLarge('bytes', limits.bytes)
    const found = await Promise.all(
      sized.map(async ({ name, size, isExecutable }) => {
        const content = isInPackage ? String(size) : size === 0 ? NOTHING : await read(join(folder, name))
        return [name, { isExecutable, content }] as const
      }),
    )
    return new Map(found)
  }

  for (const folder of folders) {
    hash.update('folder\n')
    await walk(folder, '', false)
  }
  return { digest: `sha256:${hash.digest('hex')}`, files, bytes }
}

/** Counts names up to the limit, which is a hundred times as fast as reading the files. */
async function countAll(folders: readonly string[], max: number) {
  let files = 0
  const rest = [...folders]
  for (let folder = rest.pop(); folder !== undefined; folder = rest.pop()) {
    for await (const entry of await opendir(folder, { bufferSize: AT_A_TIME }).catch(tooDeep)) {
      files += 1
      if (files > max) throw tooLarge('files', max)
      if (entry.isDirectory() && !isUnreadable(entry)) rest.push(join(folder, entry.name))
    }
  }
}

const isUnreadable = ({ name }: Dirent): boolean => name.includes('\u{fffd}')

/** The digest of an empty file. */
const NOTHING = createHash('sha256').digest('hex')

async function contentDigest(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}

function tooDeep(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ENAMETOOLONG') throw error
  throw new Problem('OUTPUT_TOO_LARGE', 'The output has folders nested deeper than the longest path allows.')
}

const tooLarge = (what: keyof OutputLimits, limit: number): Problem =>
  new Problem('OUTPUT_TOO_LARGE', `The output has more than ${limit.toLocaleString('en')} ${NAMES[what]}.`, {
    metadata: { what, limit: String(limit) },
  })

const NAMES: Record<keyof OutputLimits, string> = { files: 'files, folders and links', bytes: 'bytes' }
