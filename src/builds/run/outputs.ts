/**
 * The outputs of builds: immutable folders, each named by the digest of its content. A folder is moved into place by one
 * rename, so a name that exists is complete; the same output of one owner is stored once.
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { lstat, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { absent, createTurns, removeTree } from '../../base/index.ts'
import { Problem } from '../../contract/index.ts'
import { checkDigest, type Digest } from '../../storage/index.ts'
import { digestOf, type OutputLimits } from './output-digest.ts'
import type { OutputFolders } from './output-folder.ts'
import { type Size, sizeOf } from './untrusted-folder.ts'

export type { OutputLimits } from './output-digest.ts'

export const DEFAULT_OUTPUT_LIMITS: OutputLimits = { files: 200_000, bytes: 8 * 1024 ** 3 }

/** Suffixes of folders that are not complete yet, and of folders that are being removed. */
const DRAFT = '.new'
const GONE = '.old'

export type Keeping = {
  /** May add files before the output is in place. */
  prepare(files: string, edgeFolder: string): Promise<void>
  /** Throws when the quota does not allow the size. Not called where the same output is stored already. */
  admit?(size: Size): Promise<void>
  /** Whether visitors get the files themselves: then the content of all of them counts for the digest. */
  isServed?: boolean
  /** Records the reference to the output before it is in place. A reader that finds no folder builds it again. */
  record?(digest: Digest, size: Size): Promise<void>
}

/** None of them exists yet. `source` is not part of every output, nor is `edge`, for what the edge needs. */
export type RestoredFolders = { files: string; source: string; edge: string }

export function createOutputs({ folder, limits }: { folder: string; limits: OutputLimits }) {
  // An output that is stored again must not be removed before its reference is recorded.
  const inTurn = createTurns()

  function place(digest: Digest): string {
    checkDigest(digest)
    return join(folder, digest.slice('sha256:'.length))
  }

  return {
    /** The folder of files. Beside it is the folder for what the edge needs to serve them. */
    filesOf: (digest: Digest): string => join(place(digest), 'files'),
    edgeFolderOf: (digest: Digest): string => join(place(digest), 'edge'),

    /** The layers that a server sees as its folder, the uppermost first, with packages in between. */
    async layersOf(digest: Digest, packages: string | undefined): Promise<string[]> {
      const source = join(place(digest), 'source')
      const isLayered = await exists(source)
      return [this.filesOf(digest), ...(packages === undefined ? [] : [packages]), ...(isLayered ? [source] : [])]
    },

    /**
     * Moves folders into the store for their owner. The size is that of the files, without packages and without what was
     * prepared.
     */
    async keep(
      { files, source }: OutputFolders,
      owner: string,
      { prepare, admit, record, isServed = false }: Keeping,
    ): Promise<{ digest: Digest } & Size> {
      const taken = [files, ...(source === undefined ? [] : [source])]
      // The edge and the sandbox would follow a link in its place.
      for (const folder of taken)
        if (!(await lstat(folder)).isDirectory()) throw new Problem('NO_OUTPUT', 'The output is not a folder.')
      const { digest, ...size } = await digestOf(taken, owner, { ...limits, isServed })
      const target = place(digest)

      const isThere = await inTurn(digest, async () => {
        if (!(await exists(target))) return false
        await record?.(digest, await withEdge(target, size))
        // Another process may have removed it just before the reference was recorded.
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
          // First: an output that is in place without a reference may be removed.
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

    /** Lets users of other environments read all of its files. None is changed otherwise, and links are not followed. */
    async makeReadable(digest: Digest) {
      const folders = [join(place(digest), 'files'), join(place(digest), 'source')]
      const found = await Promise.all(folders.map(exists))
      const args = ['-R', 'o+rX', '--', ...folders.filter((_, index) => found[index])]
      await promisify(execFile)('chmod', args, { env: { PATH: '/usr/bin:/bin' } })
    },

    /** Puts back an output whose files are gone. `fill` writes the folders of a draft that become those of the output. */
    async restore(digest: Digest, fill: (folders: RestoredFolders) => Promise<void>) {
      const target = place(digest)
      const draft = `${target}.${randomUUID()}${DRAFT}`
      try {
        await mkdir(draft, { recursive: true, mode: 0o711 })
        await fill({ files: join(draft, 'files'), source: join(draft, 'source'), edge: join(draft, 'edge') })
        await inTurn(digest, () => rename(draft, target).catch(isTaken))
      } finally {
        await removeTree(draft)
      }
    },

    /** Renames first, so that no reader finds half an output. Returns whether it was removed; false when it is needed again. */
    async remove(digest: Digest, isNeeded: (digest: Digest) => Promise<boolean> = async () => false): Promise<boolean> {
      const gone = `${place(digest)}.${randomUUID()}${GONE}`
      const isOut = await inTurn(digest, async () => {
        if ((await isNeeded(digest)) || !(await exists(place(digest)))) return false
        await rename(place(digest), gone)
        if (!(await isNeeded(digest))) return true
        // Another process recorded a reference just before.
        await rename(gone, place(digest)).catch(isTaken)
        return false
      })
      await removeTree(gone)
      return isOut
    },

    /** Those that are complete. */
    async all(): Promise<Digest[]> {
      const names = (await namesIn(folder)).filter((name) => /^[0-9a-f]{64}$/.test(name))
      return names.map((name): Digest => `sha256:${name}`)
    },

    /** Removes every output that is not needed and returns how many. */
    async collect(isNeeded: (digest: Digest) => Promise<boolean>): Promise<number> {
      let count = 0
      for (const digest of await this.all()) if (await this.remove(digest, isNeeded)) count += 1
      return count
    },

    /** Includes the folder for the edge. */
    async sizeOf(digest: Digest): Promise<Size> {
      return sizeOf(place(digest))
    },

    /** Removes what a dead process left incomplete. Only for the start of the service: it would also remove work in progress. */
    async sweep() {
      await mkdir(folder, { recursive: true, mode: 0o711 })
      for (const name of await namesIn(folder)) {
        if (name.endsWith(DRAFT) || name.endsWith(GONE)) await removeTree(join(folder, name))
      }
    },
  }
}

/** Another process stored the same output. */
function isTaken(error: NodeJS.ErrnoException) {
  if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
}

/** Adds the size of the folder for the edge. */
async function withEdge(target: string, { bytes, files }: Size): Promise<Size> {
  const edge = await sizeOf(join(target, 'edge'))
  return { bytes: bytes + edge.bytes, files: files + edge.files }
}

export type Outputs = ReturnType<typeof createOutputs>

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(absent)) ?? []
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(absent)) !== undefined
}
