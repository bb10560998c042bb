/**
 * Tarballs of packages, shared by the apps of an account: a build whose lockfile asks for one that another build has downloaded
 * downloads nothing. Each is stored under its SHA-512.
 *
 * The store of a package manager is written by programs of tenants, so nothing in it is believed. A tarball is looked up there
 * by the digest that the lockfile names, copied, and kept only if the copy has that digest. The store is never listed, and its
 * index and its metadata are never taken: they would tell the package manager which bytes a package has.
 *
 * A build gets links to the tarballs that its own lockfile names, in a layer that it can only read. It sees no others: they may
 * be private packages of another app.
 */
import { createHash } from 'node:crypto'
import {
  type FileHandle,
  lchown,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  statfs,
  unlink,
  utimes,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { absent, checkId, createTurns, isId, removeTree } from '../../base/index.ts'
import { openFileIn, type Size } from './untrusted-folder.ts'
import type { Workspace } from './workspace.ts'

/** Of one account. The least recently used go first. */
export const TARBALL_LIMITS: Size = { files: 20_000, bytes: 2 * 1024 ** 3 }

type Parts = {
  folder: string
  limits?: Size
  /** Bytes of the disk that are never used. */
  reserve?: number
}

/** `path`: where the store of the package manager has its tarballs. */
type Place = { workspace: Pick<Workspace, 'makeFolder' | 'makeServiceFolder' | 'user'>; path: string }

const LAYER = 'tarballs'
const DRAFTS = 'tarball-drafts'
const AT_A_TIME = 8
const CHUNK_BYTES = 256 * 1024

export function createTarballStore({ folder, limits = TARBALL_LIMITS, reserve = 0 }: Parts) {
  const folderOf = (accountId: string): string => join(folder, checkId(accountId))
  const inTurn = createTurns()

  return {
    /** A layer with those of the tarballs that are there. Undefined where there are none. */
    async lay(
      accountId: string,
      digests: readonly string[],
      { workspace, path }: Place,
    ): Promise<({ layer: string } & Size) | undefined> {
      const wanted = await among(folderOf(accountId), digests)
      if (wanted.length === 0) return undefined
      const layer = await workspace.makeFolder(LAYER)
      const makeFolders = folderMaker(layer, workspace.user)
      const size = { files: 0, bytes: 0 }
      await inBatches(wanted, async (digest) => {
        const tarball = join(folderOf(accountId), digest)
        const to = join(path, pathOf(digest))
        await makeFolders(dirname(to))
        // A write to the link would go to a copy, in the layer above.
        if (!(await isLinked(tarball, join(layer, to)))) return
        await touch(tarball)
        size.files += 1
        size.bytes += (await lstat(join(layer, to))).size
      })
      return size.files > 0 ? { layer, ...size } : undefined
    },

    /**
     * Keeps those of the tarballs that a store has, once the programs that wrote it have ended. Resolves to what is new, and
     * to the number of files whose content is not what their name says.
     */
    async keep(
      accountId: string,
      digests: readonly string[],
      { store, workspace, path }: Place & { store: string },
    ): Promise<Size & { rejected: number }> {
      const kept = { files: 0, bytes: 0, rejected: 0 }
      const known = new Set(await among(folderOf(accountId), digests))
      const missing = digests.filter((digest) => IS_DIGEST.test(digest) && !known.has(digest))
      if (missing.length === 0) return kept
      await mkdir(folderOf(accountId), { recursive: true, mode: 0o700 })
      const drafts = await workspace.makeServiceFolder(DRAFTS)
      let spare = Math.min(limits.bytes, (await freeBytes()) - reserve)
      await inBatches(missing, async (digest) => {
        const found = await openFileIn(store, join(path, pathOf(digest)))
        if (!found) return
        await using file = found.file
        if (found.bytes > spare) return
        spare -= found.bytes
        const draft = join(drafts, digest)
        if ((await copyWithDigest(file, found.bytes, draft)) !== digest) {
          kept.rejected += 1
          await unlink(draft)
          return
        }
        await rename(draft, join(folderOf(accountId), digest))
        kept.files += 1
        kept.bytes += found.bytes
      })
      if (kept.files > 0) await inTurn(accountId, () => trim(folderOf(accountId), limits))
      return kept
    },

    /** Removes those of accounts that `read` does not name. Folders are listed before it is called. */
    async collect(read: () => Promise<ReadonlySet<string>>): Promise<number> {
      const there = (await namesIn(folder)).filter(isId)
      if (there.length === 0) return 0
      const accounts = await read()
      const gone = there.filter((id) => !accounts.has(id))
      for (const id of gone) await removeTree(folderOf(id))
      return gone.length
    },
  }

  async function freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  }
}

export type TarballStore = ReturnType<typeof createTarballStore>

/** As npm's store does: the first two folders have two digits each. */
const pathOf = (digest: string): string => join(digest.slice(0, 2), digest.slice(2, 4), digest.slice(4))

const IS_DIGEST = /^[0-9a-f]{128}$/

async function among(folder: string, digests: readonly string[]): Promise<string[]> {
  const there = new Set(await namesIn(folder))
  return digests.filter((digest) => IS_DIGEST.test(digest) && there.has(digest))
}

/** Makes folders in `top` for the app's user, each once. */
function folderMaker(top: string, user: Workspace['user']) {
  const made = new Map<string, Promise<void>>([['.', Promise.resolve()]])

  return function makeFolders(path: string): Promise<void> {
    const making = made.get(path) ?? make(path)
    made.set(path, making)
    return making
  }

  async function make(path: string) {
    const above = dirname(path)
    const isAbove = made.get(above) ?? make(above)
    made.set(above, isAbove)
    await isAbove
    await mkdir(join(top, path), { mode: 0o755 })
    if (user) await lchown(join(top, path), user.uid, user.gid)
  }
}

/** False where it was removed in the meantime, or where this file system has no further links. */
const isLinked = (from: string, to: string): Promise<boolean> =>
  link(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (!['ENOENT', 'EMLINK', 'EXDEV', 'EPERM', 'ENOTSUP'].includes(error.code ?? '')) throw error
      return false
    },
  )

/** The least recently used go first. It may have been removed in the meantime. */
async function touch(file: string) {
  const now = new Date()
  await utimes(file, now, now).catch(absent)
}

/** Copies what the opened file has, and resolves to the SHA-512 of what was written. The file may change meanwhile. */
async function copyWithDigest(from: FileHandle, bytes: number, to: string): Promise<string> {
  await using copy = await open(to, 'wx', 0o600)
  const hash = createHash('sha512')
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(bytes, 1)))
  let done = 0
  while (done < bytes) {
    const { bytesRead } = await from.read(buffer, 0, Math.min(buffer.length, bytes - done), done)
    if (bytesRead === 0) break
    const chunk = buffer.subarray(0, bytesRead)
    hash.update(chunk)
    await copy.writeFile(chunk)
    done += bytesRead
  }
  // Users of apps read it through a link.
  await copy.chmod(0o444)
  return hash.digest('hex')
}

async function trim(folder: string, limits: Size) {
  const found: { name: string; bytes: number; usedTime: number }[] = []
  await inBatches(await namesIn(folder), async (name) => {
    const file = await lstat(join(folder, name)).catch(absent)
    if (file) found.push({ name, bytes: file.size, usedTime: file.mtimeMs })
  })
  found.sort((a, b) => b.usedTime - a.usedTime)
  const sum = { files: 0, bytes: 0 }
  for (const { name, bytes } of found) {
    sum.files += 1
    sum.bytes += bytes
    if (sum.files > limits.files || sum.bytes > limits.bytes) await unlink(join(folder, name)).catch(absent)
  }
}

async function inBatches<T>(values: readonly T[], act: (value: T) => Promise<void>) {
  for (let from = 0; from < values.length; from += AT_A_TIME)
    await Promise.all(values.slice(from, from + AT_A_TIME).map(act))
}

const namesIn = async (folder: string): Promise<string[]> => (await readdir(folder).catch(absent)) ?? []
