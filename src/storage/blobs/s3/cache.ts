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

type Entry = { bytes: number; isVerified: boolean; users: number }

/** All of them are looked at when a process starts. */
const MAX_COPIES = 50_000
const STATS_AT_ONCE = 64

export type Borrowed = { file: string; release(): Promise<void> }

export async function openCache(folder: string, maxBytes: number, maxCopies = MAX_COPIES) {
  const aside = join(folder, 'aside')
  await mkdir(aside, { recursive: true, mode: 0o700 })
  const ours = new Set<string>()
  const isOurs = (name: string): boolean => ours.has(name)
  await sweepDrafts(aside, isOurs)
  /** The most recently used comes last. */
  const entries = new Map<Digest, Entry>()
  for (const { digest, bytes } of (await filesIn(folder)).toSorted((a, b) => a.usedAt - b.usedAt)) {
    entries.set(digest, { bytes, isVerified: false, users: 0 })
  }
  let total = [...entries.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  await trim()

  function place(digest: Digest) {
    const hex = digest.slice('sha256:'.length)
    return join(folder, hex.slice(0, 2), hex)
  }

  function enter(digest: Digest, entry: Entry) {
    total += entry.bytes - (entries.get(digest)?.bytes ?? 0)
    entries.delete(digest)
    entries.set(digest, entry)
  }

  async function remove(digest: Digest) {
    const entry = entries.get(digest)
    if (entry) total -= entry.bytes
    entries.delete(digest)
    await rm(place(digest), { force: true })
  }

  function isWithin(): boolean {
    return total <= maxBytes && entries.size <= maxCopies
  }

  /** Removes what was not used for longest, until the rest is within the bound. What is in use stays, and so does `but`. */
  async function trim(but?: Digest) {
    for (const [digest, { users }] of entries) {
      if (isWithin()) return
      if (digest !== but && users === 0) await remove(digest)
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
    if (entries.get(digest) === entry) enter(digest, entry)
    const now = new Date()
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
      enter(digest, { bytes, isVerified: true, users })
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
    const names = (await readdir(join(folder, subfolder))).filter((name) => /^[0-9a-f]{64}$/.test(name))
    for (let from = 0; from < names.length; from += STATS_AT_ONCE) {
      const some = names.slice(from, from + STATS_AT_ONCE).map(async (name) => {
        const file = await stat(join(folder, subfolder, name)).catch(absent)
        if (file) found.push({ digest: `sha256:${name}`, bytes: file.size, usedAt: file.mtimeMs })
      })
      await Promise.all(some)
    }
  }
  return found
}

async function digestOf(file: string): Promise<Digest> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(file, { highWaterMark: 1024 * 1024 })) hash.update(piece)
  return `sha256:${hash.digest('hex')}`
}
