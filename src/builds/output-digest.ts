/** What an output is, in one digest; and whether it is larger than an output may be. */
import { createHash } from 'node:crypto'
import { createReadStream, type Dirent } from 'node:fs'
import { lstat, opendir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { sortInTurns } from '../base/index.ts'
import { Problem } from '../contract/index.ts'
import type { Digest } from '../storage/index.ts'
import type { Size } from './inside.ts'

export type OutputLimits = { files: number; bytes: number }

const AT_A_TIME = 256

/**
 * A digest over the names, kinds and contents of all files. Files of installed packages count with their size only: they
 * follow from the lockfile, which counts in full, and reading them all would cost more than most builds. So the owner
 * counts too: otherwise somebody could leave other packages of the same sizes for a neighbour to find. Where visitors get the
 * files themselves, those of packages are what the build put there, from wherever, and count like all others.
 */
export async function digestOf(
  folders: readonly string[],
  owner: string,
  { isServed, ...limits }: OutputLimits & { isServed: boolean },
): Promise<{ digest: Digest } & Size> {
  const hash = createHash('sha256').update(`owner ${owner}\n`)
  let [files, bytes] = [0, 0]

  async function walk(top: string, path: string, isInPackage: boolean): Promise<void> {
    const entries: Dirent[] = []
    // Counted while they are read: a folder may hold more names than there is memory for.
    for await (const entry of await opendir(join(top, path), { bufferSize: AT_A_TIME }).catch(tooDeep)) {
      files += 1
      if (files > limits.files) throw tooLarge('files', limits.files)
      entries.push(entry)
    }
    for (const entry of await sortInTurns(entries, ({ name }) => name)) {
      const inner = join(path, entry.name)
      const full = join(top, inner)
      // A name that is not UTF-8 is read with this character in it, and cannot be opened by what was read.
      if (entry.name.includes('\u{fffd}')) hash.update(`? ${JSON.stringify(inner)}\n`)
      else if (entry.isDirectory()) {
        hash.update(`d ${JSON.stringify(inner)}\n`)
        await walk(top, inner, isInPackage || (!isServed && entry.name === 'node_modules'))
      } else if (entry.isSymbolicLink()) hash.update(`l ${JSON.stringify([inner, await readlink(full)])}\n`)
      else if (entry.isFile()) {
        const { size, mode } = await lstat(full)
        bytes += size
        if (bytes > limits.bytes) throw tooLarge('bytes', limits.bytes)
        const content = isInPackage ? String(size) : await contentDigest(full)
        hash.update(`f ${JSON.stringify([inner, mode & 0o111 ? 'x' : '-', content])}\n`)
      }
      // How an overlay says that what lies below is not there any more.
      else if (entry.isCharacterDevice()) hash.update(`- ${JSON.stringify(inner)}\n`)
      // Sockets, fifos and other devices are no output.
    }
  }

  for (const folder of folders) {
    hash.update('folder\n')
    await walk(folder, '', false)
  }
  return { digest: `sha256:${hash.digest('hex')}`, files, bytes }
}

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
  new Problem('OUTPUT_TOO_LARGE', `The output has more than ${limit} ${what}.`, {
    metadata: { what, limit: String(limit) },
  })
