/** What an output is, in one digest; and whether it is larger than an output may be. */
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
/** Files that are read at a time: a build may leave hundreds of thousands, and each costs several calls of the system. */
const READ_AT_A_TIME = 32

type Parts = OutputLimits & {
  isServed: boolean
  /** SHA-256 of what is in a file. */
  read?: (path: string) => Promise<string>
}

/**
 * A digest over the names, kinds and contents of all files. Files of installed packages count with their size only: they
 * follow from the lockfile, which counts in full, and reading them all would cost more than most builds. So the owner
 * counts too: otherwise somebody could leave other packages of the same sizes for a neighbour to find. Where visitors get the
 * files themselves, those of packages are what the build put there, from wherever, and count like all others. Nothing is read
 * of an output that has more files than it may.
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
      // Nothing else writes there any more; were it so, memory has an end all the same.
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
        // A name that is not UTF-8 is read with this character in it, and cannot be opened by what was read.
        if (isUnreadable(entry)) hash.update(`? ${JSON.stringify(inner)}\n`)
        else if (entry.isDirectory()) {
          hash.update(`d ${JSON.stringify(inner)}\n`)
          await walk(top, inner, isInPackage || (!isServed && entry.name === 'node_modules'))
        } else if (entry.isSymbolicLink())
          hash.update(`l ${JSON.stringify([inner, await readlink(join(top, inner))])}\n`)
        else if (file) hash.update(`f ${JSON.stringify([inner, file.isExecutable ? 'x' : '-', file.content])}\n`)
        // How an overlay says that what lies below is not there any more.
        else if (entry.isCharacterDevice()) hash.update(`- ${JSON.stringify(inner)}\n`)
        // Sockets, fifos and other devices are no output.
      }
    }
  }

  /** All sizes are known before the first of them is read. */
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

/** Names only, and no further than one may go: a hundred times as fast as to read what is in the files. */
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
  throw new Problem('OUTPUT_TOO_LARGE', 'The output has folders in folders, deeper than a path may be long.')
}

const tooLarge = (what: keyof OutputLimits, limit: number): Problem =>
  new Problem('OUTPUT_TOO_LARGE', `The output has more than ${limit.toLocaleString('en')} ${NAMES[what]}.`, {
    metadata: { what, limit: String(limit) },
  })

const NAMES: Record<keyof OutputLimits, string> = { files: 'files, folders and links', bytes: 'bytes' }
