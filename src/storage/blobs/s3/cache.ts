/**
 * Copies of blobs on the local disk, within a bound: `<folder>/ab/abcdef…`. The time of a file is when it was last used, so the
 * order survives a restart. A file that this process has not written or checked itself is checked before its first use: a crash
 * may have left it incomplete, as nothing here is fsynced. A file in use has a second name of its own in `aside`, which another
 * process on the same folder does not remove either.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { link, mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { absent, randomToken } from '../../../base/index.ts'
import type { Digest } from '../blobs.ts'
import { sweepDrafts } from '../drafts.ts'

type Entry = { bytes: number; usedAt: number; isVerified: boolean; users: number }

export type Borrowed = { file: string; release(): Promise<void> }

export async function openCache(folder: string, maxBytes: number) {
  const aside = join(folder, 'aside')
  await mkdir(aside, { recursive: true, mode: 0o700 })
  const ours = new Set<string>()
  const isOurs = (name: string): boolean => ours.has(name)
  await sweepDrafts(aside, isOurs)
  const entries = new Map<Digest, Entry>()
  for (const { digest, bytes, usedAt } of await filesIn(folder)) {
    entries.set(digest, { bytes, usedAt, isVerified: false, users: 0 })
  }
  let total = [...entries.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  await trim()

  function place(digest: Digest) {
    const hex = digest.slice('sha256:'.length)
    return join(folder, hex.slice(0, 2), hex)
  }

  function enter(digest: Digest, entry: Entry) {
    total += entry.bytes - (entries.get(digest)?.bytes ?? 0)
    entries.set(digest, entry)
  }

  async function remove(digest: Digest) {
    const entry = entries.get(digest)
    if (entry) total -= entry.bytes
    entries.delete(digest)
    await rm(place(digest), { force: true })
  }

  /** Removes what was not used for longest, until the rest is within the bound. What is in use stays, and so does `but`. */
  async function trim(but?: Digest) {
    if (total <= maxBytes) return
    const oldestFirst = [...entries].toSorted(([, a], [, b]) => a.usedAt - b.usedAt)
    for (const [digest] of oldestFirst) {
      if (total <= maxBytes) return
      if (digest !== but && entries.get(digest)?.users === 0) await remove(digest)
    }
  }

  /** A name for a file that is not a copy yet. */
  function draft(): string {
    const name = randomToken()
    ours.add(name)
    return join(aside, name)
  }

  /** Also where the draft became a copy, and has no name of its own any more. */
  async function discard(path: string) {
    await rm(path, { force: true })
    ours.delete(basename(path))
  }

  async function linked(digest: Digest, entry: Entry): Promise<Borrowed | undefined> {
    const file = draft()
    const isThere = await link(place(digest), file).then(() => true, absent)
    if (!isThere || !(entry.isVerified || (await digestOf(file)) === digest)) {
      await discard(file)
      return undefined
    }
    entry.isVerified = true
    const now = new Date()
    entry.usedAt = now.getTime()
    await utimes(file, now, now)
    return {
      file,
      async release() {
        entry.users -= 1
        await discard(file)
        await trim()
      },
    }
  }

  return {
    draft,
    discard,
    trim,
    remove,

    /** A file with the bytes, for as long as it is not released; undefined if there is no good copy. */
    async borrow(digest: Digest): Promise<Borrowed | undefined> {
      const entry = entries.get(digest)
      if (!entry) return undefined
      entry.users += 1
      const borrowed = await linked(digest, entry).catch((error) => {
        entry.users -= 1
        throw error
      })
      if (borrowed) return borrowed
      entry.users -= 1
      await remove(digest)
      return undefined
    },

    /** Makes a draft, whose digest is known to be right, a copy. */
    async add(path: string, digest: Digest, bytes: number) {
      const file = place(digest)
      await mkdir(join(file, '..'), { recursive: true, mode: 0o700 })
      await rename(path, file)
      ours.delete(basename(path))
      const users = entries.get(digest)?.users ?? 0
      enter(digest, { bytes, usedAt: Date.now(), isVerified: true, users })
      await trim(digest)
    },

    sweep: () => sweepDrafts(aside, isOurs),
    bytes: () => total,
  }
}

export type Cache = Awaited<ReturnType<typeof openCache>>

async function filesIn(folder: string): Promise<{ digest: Digest; bytes: number; usedAt: number }[]> {
  const found: { digest: Digest; bytes: number; usedAt: number }[] = []
  for (const subfolder of (await readdir(folder)).filter((name) => /^[0-9a-f]{2}$/.test(name))) {
    for (const name of await readdir(join(folder, subfolder))) {
      const file = await stat(join(folder, subfolder, name)).catch(absent)
      if (file && /^[0-9a-f]{64}$/.test(name))
        found.push({ digest: `sha256:${name}`, bytes: file.size, usedAt: file.mtimeMs })
    }
  }
  return found
}

async function digestOf(file: string): Promise<Digest> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(file, { highWaterMark: 1024 * 1024 })) hash.update(piece)
  return `sha256:${hash.digest('hex')}`
}
