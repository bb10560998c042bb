/**
 * What builds leave: folders that never change, each under a digest of what is in it. A folder is moved into place as a
 * whole, so a name that exists is whole; the same output of one owner is kept once.
 */
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, mkdir, readdir, readlink, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '../contract/index.ts'
import { checkDigest, type Digest } from '../storage/index.ts'

export type OutputLimits = { files: number; bytes: number }

export const DEFAULT_OUTPUT_LIMITS: OutputLimits = { files: 500_000, bytes: 8 * 1024 ** 3 }

/** How names end of what nobody may see yet. */
const DRAFT = '.new'

export function createOutputs({ folder, limits }: { folder: string; limits: OutputLimits }) {
  function place(digest: Digest): string {
    checkDigest(digest)
    return join(folder, digest.slice('sha256:'.length))
  }

  return {
    /** The folder of files. Beside it is room for what the edge needs to serve them. */
    filesOf: (digest: Digest): string => join(place(digest), 'files'),
    edgeFolderOf: (digest: Digest): string => join(place(digest), 'edge'),

    /**
     * Takes a folder away from its place and keeps it for its owner. `prepare` may add to what is kept, while nobody can
     * see it yet.
     */
    async keep(
      source: string,
      owner: string,
      prepare: (files: string, edgeFolder: string) => Promise<void>,
    ): Promise<Digest> {
      // A link in its place would be followed, by the edge and by the sandbox, to wherever it leads.
      if (!(await lstat(source)).isDirectory()) throw new Problem('NO_OUTPUT', 'The output is not a folder.')
      const digest = await digestOf(source, owner, limits)
      const target = place(digest)
      if (await exists(target)) {
        await rm(source, { recursive: true, force: true })
        return digest
      }
      const draft = `${target}.${randomUUID()}${DRAFT}`
      try {
        await mkdir(draft, { recursive: true, mode: 0o711 })
        await rename(source, join(draft, 'files'))
        await prepare(join(draft, 'files'), join(draft, 'edge'))
        await rename(draft, target).catch((error) => {
          // Another build with the same output was faster.
          if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
        })
        return digest
      } finally {
        await rm(draft, { recursive: true, force: true })
      }
    },

    async has(digest: Digest): Promise<boolean> {
      return exists(place(digest))
    },

    async remove(digest: Digest) {
      await rm(place(digest), { recursive: true, force: true })
    },

    /** Removes what a build that died left half-moved. */
    async sweep() {
      await mkdir(folder, { recursive: true, mode: 0o711 })
      for (const name of await readdir(folder)) {
        if (name.endsWith(DRAFT)) await rm(join(folder, name), { recursive: true, force: true })
      }
    },
  }
}

export type Outputs = ReturnType<typeof createOutputs>

/**
 * A digest over the names, kinds and contents of all files. Files of installed packages count with their size only: they
 * follow from the lockfile, which counts in full, and reading them all would cost more than most builds. So the owner
 * counts too: otherwise somebody could leave other packages of the same sizes for a neighbour to find.
 */
async function digestOf(top: string, owner: string, limits: OutputLimits): Promise<Digest> {
  const hash = createHash('sha256').update(`owner ${owner}\n`)
  let [files, bytes] = [0, 0]

  async function walk(path: string, isInPackage: boolean): Promise<void> {
    const entries = await readdir(join(top, path), { withFileTypes: true })
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const inner = join(path, entry.name)
      const full = join(top, inner)
      files += 1
      if (files > limits.files) throw tooLarge('files', limits.files)
      // A name that is not UTF-8 is read with this character in it, and cannot be opened by what was read.
      if (entry.name.includes('\u{fffd}')) hash.update(`? ${JSON.stringify(inner)}\n`)
      else if (entry.isDirectory()) {
        hash.update(`d ${JSON.stringify(inner)}\n`)
        await walk(inner, isInPackage || entry.name === 'node_modules')
      } else if (entry.isSymbolicLink()) hash.update(`l ${JSON.stringify([inner, await readlink(full)])}\n`)
      else if (entry.isFile()) {
        const { size, mode } = await lstat(full)
        bytes += size
        if (bytes > limits.bytes) throw tooLarge('bytes', limits.bytes)
        const content = isInPackage ? String(size) : await contentDigest(full)
        hash.update(`f ${JSON.stringify([inner, mode & 0o111 ? 'x' : '-', content])}\n`)
      }
      // Sockets, fifos and devices are no output.
    }
  }

  await walk('', false)
  return `sha256:${hash.digest('hex')}`
}

async function contentDigest(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}

const tooLarge = (what: keyof OutputLimits, limit: number): Problem =>
  new Problem('OUTPUT_TOO_LARGE', `The output has more than ${limit} ${what}.`, {
    metadata: { what, limit: String(limit) },
  })

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}
