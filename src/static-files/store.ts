/**
 * The files of static sites on the disk of a machine that has edges and no control process. An output is got from the registry
 * when an edge asks for it, and stays while an edge uses it. Above a limit of bytes, outputs that none has used for a while are
 * removed, the least recently used first.
 */
import { lstat, mkdir, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { absent, type Clock, createSlots, type Log, type Repetition, repeat } from '../base/index.ts'
import type { Outputs } from '../builds/index.ts'
import {
  type EarlierIndexWanted,
  IMMUTABLE_LIST_NAME,
  MANIFEST_NAME,
  makeEarlierIndex,
  makeManifest,
  type StoredOutput,
} from '../edge/index.ts'
import { RegistryRefused, type SiteImages } from '../images/index.ts'
import { checkDigest, type Digest } from '../storage/index.ts'

type Parts = {
  clock: Clock
  log: Log
  outputs: Pick<Outputs, 'all' | 'edgeFolderOf' | 'filesOf' | 'has' | 'remove' | 'restore' | 'sizeOf' | 'sweep'>
  images: Pick<SiteImages, 'pull' | 'sweep'>
  /** Of all outputs on the disk. */
  maxBytes: number
  /** How long an output that no edge uses is kept in any case: an edge that is started again finds its files. */
  unusedMs?: number
}

type Stored = { bytes: number; useTime: number }

/** One app does not take all of them. */
const PULLS = { max: 4, maxOfOwner: 2 }
/** Visitors wait, and the edge asks again. */
const REGISTRY_AWAY_MS = 3000
const UNUSED_MS = 10 * 60_000
const TIDY_MS = 60_000

/** Outputs that an index is made of: a control process names fewer. */
const MAX_EARLIER = 16
const INDEX_NAME = 'earlier.index'
const NOT_FOUND = 404

export function createSiteStore({ clock, log, outputs, images, maxBytes, unusedMs = UNUSED_MS }: Parts) {
  const inSlot = createSlots(PULLS)
  const pulls = new Map<Digest, Promise<void>>()
  const stored = new Map<Digest, Stored>()
  /** How many edges use an output. */
  const users = new Map<Digest, number>()
  let repetition: Repetition | undefined
  let isTold = false

  async function pull({ digest, image }: StoredOutput) {
    checkDigest(digest)
    const beganAt = performance.now()
    let bytes = 0
    await outputs.restore(digest, async ({ files, edge }) => {
      const site = await images.pull(image, files, { timeoutMs: REGISTRY_AWAY_MS })
      const { singlePage, basePath } = site
      bytes = site.bytes
      const rules = site.rules === undefined ? undefined : JSON.parse(site.rules)
      await makeManifest(files, edge, { singlePage, basePath, rules })
    })
    const ms = Math.round(performance.now() - beganAt)
    log.info({ output: digest, image, bytes, ms }, 'the files of a site were got from the registry')
    await look(digest)
  }

  /** Joins a pull of the same output that is under way. */
  function pullOnce(output: StoredOutput & { digest: Digest }): Promise<void> {
    const { digest, image } = output
    const begun =
      pulls.get(digest) ??
      inSlot(repositoryIn(image), () => pull(output))
        .catch((error) => {
          log.error({ err: error, output: digest, image }, 'the files of a site could not be got from the registry')
          throw error
        })
        .finally(() => pulls.delete(digest))
    pulls.set(digest, begun)
    return begun
  }

  /** False where the registry does not have it any more. */
  async function isGot(output: StoredOutput & { digest: Digest }): Promise<boolean> {
    try {
      if (!(await outputs.has(output.digest))) await pullOnce(output)
      return true
    } catch (error) {
      if (error instanceof RegistryRefused && error.status === NOT_FOUND) return false
      throw error
    }
  }

  /** An index is kept like an output: a folder with the index, and links to the files that it names. */
  async function makeIndex({ digest, live, outputs: earlier }: CheckedIndex) {
    const sources: { list: string; output: { files: string; edge: string } }[] = []
    for (const output of earlier) {
      if (!(await isGot(output))) continue
      const edge = outputs.edgeFolderOf(output.digest)
      sources.push({ list: join(edge, IMMUTABLE_LIST_NAME), output: { files: outputs.filesOf(output.digest), edge } })
    }
    await outputs.restore(digest, async ({ edge }) => {
      await mkdir(edge)
      const liveList = join(outputs.edgeFolderOf(live.digest), IMMUTABLE_LIST_NAME)
      await makeEarlierIndex({ folder: edge, name: INDEX_NAME, live: liveList, earlier: sources })
    })
    await look(digest)
  }

  function makeIndexOnce(wanted: CheckedIndex): Promise<void> {
    const begun = pulls.get(wanted.digest) ?? makeIndex(wanted).finally(() => pulls.delete(wanted.digest))
    pulls.set(wanted.digest, begun)
    return begun
  }

  async function areHere(digests: readonly Digest[]): Promise<boolean> {
    for (const digest of digests) if (!(await outputs.has(digest))) return false
    return true
  }

  const isUsed = (digest: Digest): boolean => users.has(digest) || pulls.has(digest)
  const folderOf = (digest: Digest): string => dirname(outputs.filesOf(digest))

  async function look(digest: Digest) {
    const found = await stat(folderOf(digest)).catch(absent)
    if (found) stored.set(digest, { bytes: (await outputs.sizeOf(digest)).bytes, useTime: found.mtimeMs })
  }

  /** The time of its folder is that of its last use, also for the next process. */
  function touch(digest: Digest) {
    const useTime = clock.now()
    const known = stored.get(digest)
    if (known) known.useTime = useTime
    utimes(folderOf(digest), useTime / 1000, useTime / 1000).catch((error) =>
      log.debug({ err: error, output: digest }, 'the time of the last use is not on record'),
    )
  }

  const total = (): number => [...stored.values()].reduce((sum, { bytes }) => sum + bytes, 0)

  async function tidy() {
    let bytes = total()
    if (bytes <= maxBytes) return
    const oldest = [...stored].toSorted(([, a], [, b]) => a.useTime - b.useTime)
    for (const [digest, found] of oldest) {
      if (bytes <= maxBytes) return
      if (isUsed(digest) || found.useTime > clock.now() - unusedMs) continue
      if (await outputs.remove(digest, async () => isUsed(digest))) {
        log.info({ output: digest, bytes: found.bytes }, 'files of a site that no edge uses were removed')
        stored.delete(digest)
        bytes -= found.bytes
      }
    }
    if (bytes > maxBytes && !isTold) log.warn({ bytes, maxBytes }, 'the files of sites take more than edgeFiles allows')
    isTold = bytes > maxBytes
  }

  async function measure() {
    try {
      for (const digest of await outputs.all()) if (!stored.has(digest)) await look(digest)
      await tidy()
    } catch (error) {
      log.error({ err: error }, 'the files of sites could not be measured, or not be removed')
    }
  }

  return {
    /** Removes what a dead process left, and finds what is on the disk. */
    async open() {
      await Promise.all([outputs.sweep(), images.sweep()])
      // Measuring many files takes a while, which nothing waits for.
      repetition = repeat(clock, TIDY_MS, measure, { isImmediate: true })
    },

    /** Resolves when the files are on the disk. */
    async ensure(output: StoredOutput): Promise<{ folder: string; manifest: string }> {
      const { digest } = output
      checkDigest(digest)
      if (!(await outputs.has(digest))) await pullOnce({ ...output, digest })
      return { folder: outputs.filesOf(digest), manifest: join(outputs.edgeFolderOf(digest), MANIFEST_NAME) }
    },

    /**
     * The path of the index of the files that earlier outputs have and the live one has not; empty where there are none. Null where
     * outputs would have to be fetched that must not be.
     */
    async ensureEarlier(given: EarlierIndexWanted): Promise<string | null> {
      const wanted = checked(given)
      const { digest, live, outputs: earlier, mayFetch } = wanted
      if (!(await outputs.has(digest))) {
        if (!(await areHere([live.digest, ...(mayFetch ? [] : earlier.map((output) => output.digest))]))) return null
        await makeIndexOnce(wanted)
      }
      const index = join(outputs.edgeFolderOf(digest), INDEX_NAME)
      return (await lstat(index).catch(absent)) ? index : ''
    },

    async has(digest: string): Promise<boolean> {
      checkDigest(digest)
      return outputs.has(digest)
    },

    /** An edge uses it from now on. */
    use(digest: string) {
      checkDigest(digest)
      users.set(digest, (users.get(digest) ?? 0) + 1)
      touch(digest)
    },
    release(digest: string) {
      checkDigest(digest)
      const left = (users.get(digest) ?? 1) - 1
      if (left > 0) users.set(digest, left)
      else users.delete(digest)
      touch(digest)
    },

    tidy,
    /** Of all outputs on the disk. */
    bytes: total,

    async stop() {
      await repetition?.stop()
    },
  }
}

type CheckedIndex = Pick<EarlierIndexWanted, 'mayFetch'> & {
  digest: Digest
  live: StoredOutput & { digest: Digest }
  outputs: (StoredOutput & { digest: Digest })[]
}

function checked(wanted: EarlierIndexWanted): CheckedIndex {
  const { digest, live, outputs, mayFetch } = wanted
  checkDigest(digest)
  return { digest, live: withDigest(live), outputs: outputs.slice(0, MAX_EARLIER).map(withDigest), mayFetch }
}

function withDigest({ digest, image }: StoredOutput): StoredOutput & { digest: Digest } {
  checkDigest(digest)
  return { digest, image }
}

const repositoryIn = (image: string): string => image.slice(0, image.indexOf('@'))

export type SiteStore = ReturnType<typeof createSiteStore>
