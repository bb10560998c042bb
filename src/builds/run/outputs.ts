/**
 * What builds leave: folders that never change, each under a digest of what is in it. A folder is moved into place as a
 * whole, so a name that exists is whole; the same output of one owner is kept once.
 */
import { randomUUID } from 'node:crypto'
import { lstat, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { createTurns, removeTree } from '../../base/index.ts'
import { Problem } from '../../contract/index.ts'
import { checkDigest, type Digest } from '../../storage/index.ts'
import { digestOf, type OutputLimits } from './output-digest.ts'
import type { OutputFolders } from './output-folder.ts'
import { type Size, sizeOf } from './untrusted-folder.ts'

export type { OutputLimits } from './output-digest.ts'

export const DEFAULT_OUTPUT_LIMITS: OutputLimits = { files: 200_000, bytes: 8 * 1024 ** 3 }

/** How names end of what nobody may see yet, and of what nobody may see any more. */
const DRAFT = '.new'
const GONE = '.old'

export type Keeping = {
  /** May add to what is kept, while nobody can see it yet. */
  prepare(files: string, edgeFolder: string): Promise<void>
  /** Throws when so much more may not be kept. Not asked where the same is kept already. */
  admit?(size: Size): Promise<void>
  /** Whether visitors get the files themselves: then all of them count in full, wherever they came from. */
  isServed?: boolean
  /** Writes down who needs it, before it is in place: whoever reads that and finds nothing makes it anew. */
  record?(digest: Digest, size: Size): Promise<void>
}

export function createOutputs({ folder, limits }: { folder: string; limits: OutputLimits }) {
  // What is kept again must not be removed before it is written down who needs it.
  const inTurn = createTurns()

  function place(digest: Digest): string {
    checkDigest(digest)
    return join(folder, digest.slice('sha256:'.length))
  }

  return {
    /** The folder of files. Beside it is room for what the edge needs to serve them. */
    filesOf: (digest: Digest): string => join(place(digest), 'files'),
    edgeFolderOf: (digest: Digest): string => join(place(digest), 'edge'),

    /** What a server sees as its folder: one that lies over the other, the uppermost first, packages in between. */
    async layersOf(digest: Digest, packages: string | undefined): Promise<string[]> {
      const source = join(place(digest), 'source')
      const isLayered = await exists(source)
      return [this.filesOf(digest), ...(packages === undefined ? [] : [packages]), ...(isLayered ? [source] : [])]
    },

    /**
     * Takes folders away from their place and keeps them for their owner. The size is that of the files, without packages
     * and without what was prepared.
     */
    async keep(
      { files, source }: OutputFolders,
      owner: string,
      { prepare, admit, record, isServed = false }: Keeping,
    ): Promise<{ digest: Digest } & Size> {
      const taken = [files, ...(source === undefined ? [] : [source])]
      // A link in its place would be followed, by the edge and by the sandbox, to wherever it leads.
      for (const folder of taken)
        if (!(await lstat(folder)).isDirectory()) throw new Problem('NO_OUTPUT', 'The output is not a folder.')
      const { digest, ...size } = await digestOf(taken, owner, { ...limits, isServed })
      const target = place(digest)

      const isThere = await inTurn(digest, async () => {
        if (!(await exists(target))) return false
        await record?.(digest, await withEdge(target, size))
        // Another process may have taken it away just before that was written down.
        return exists(target)
      })
      if (isThere) {
        for (const folder of taken) await removeTree(folder)
        return { digest, ...size }
      }
      await admit?.(size)
      const draft = `${target}.${randomUUID()}${DRAFT}`
      try {
        await mkdir(draft, { recursive: true, mode: 0o711 })
        await rename(files, join(draft, 'files'))
        if (source !== undefined) await rename(source, join(draft, 'source'))
        await prepare(join(draft, 'files'), join(draft, 'edge'))
        await inTurn(digest, async () => {
          // First: what is in place and not written down may be taken away.
          await record?.(digest, await withEdge(draft, size))
          await rename(draft, target).catch(isTaken)
        })
        return { digest, ...size }
      } finally {
        await removeTree(draft)
      }
    },

    async has(digest: Digest): Promise<boolean> {
      return exists(place(digest))
    },

    /** Out of sight first: nobody finds half an output. Says whether it went; not when somebody needs it after all. */
    async remove(digest: Digest, isNeeded: (digest: Digest) => Promise<boolean> = async () => false): Promise<boolean> {
      const gone = `${place(digest)}.${randomUUID()}${GONE}`
      const isOut = await inTurn(digest, async () => {
        if ((await isNeeded(digest)) || !(await exists(place(digest)))) return false
        await rename(place(digest), gone)
        if (!(await isNeeded(digest))) return true
        // Another process wrote that down just before.
        await rename(gone, place(digest)).catch(isTaken)
        return false
      })
      await removeTree(gone)
      return isOut
    },

    /** Removes every output that nobody needs, and says how many. */
    async collect(isNeeded: (digest: Digest) => Promise<boolean>): Promise<number> {
      let count = 0
      for (const name of await namesIn(folder)) {
        if (/^[0-9a-f]{64}$/.test(name) && (await this.remove(`sha256:${name}`, isNeeded))) count += 1
      }
      return count
    },

    /** With what the edge needs to serve it. */
    async sizeOf(digest: Digest): Promise<Size> {
      return sizeOf(place(digest))
    },

    /** Removes what a process that died left half-moved or half-removed. For the start: what is being moved would go, too. */
    async sweep() {
      await mkdir(folder, { recursive: true, mode: 0o711 })
      for (const name of await namesIn(folder)) {
        if (name.endsWith(DRAFT) || name.endsWith(GONE)) await removeTree(join(folder, name))
      }
    },
  }
}

/** Somebody else put the same there. */
function isTaken(error: NodeJS.ErrnoException) {
  if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
}

/** The files were counted already. */
async function withEdge(target: string, { bytes, files }: Size): Promise<Size> {
  const edge = await sizeOf(join(target, 'edge'))
  return { bytes: bytes + edge.bytes, files: files + edge.files }
}

export type Outputs = ReturnType<typeof createOutputs>

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error) => {
    if (error.code !== 'ENOENT') throw error
    return []
  })
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}
