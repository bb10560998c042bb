/**
 * The manifests that are in use. A request costs a few short reads of its site's manifest, or none where the address was
 * asked for of late; how many files the site has does not matter. Files are kept open, and addresses in memory, within
 * bounds, and no site's addresses push out those of another that has fewer.
 */
import { basename, dirname, join } from 'node:path'
import type { Limits } from '../limits.ts'
import { createShares } from '../shares.ts'
import { type Found, lookUp, type Site } from './look-up.ts'
// Types alone: what makes manifests needs compression and hashing, which the edge process does not.
import type { StaticFile } from './manifest.ts'
import { MANIFEST_NAME, type ManifestFile, openManifestFile, UnreadableManifest } from './manifest-file.ts'
import { inManifestThread, LEGACY_MANIFEST_NAME } from './manifest-thread.ts'

type Open = {
  file: ManifestFile
  /** Stands for its path in the names of what is known, which are made for every request. */
  number: number
  users: number
  isClosing: boolean
}

/** What a file's sizes, digest and names take. */
const FILE_BYTES = 512
/** A list of the earlier format that cannot be read is not tried again for every visitor. */
const RETRY_MS = 10_000

export function createManifests({ openManifests, manifestBytes }: Pick<Limits, 'openManifests' | 'manifestBytes'>) {
  /** In the order of their last use. */
  const open = new Map<string, Open>()
  const opening = new Map<string, Promise<Open>>()
  let lastNumber = 0
  const known = createShares<StaticFile | typeof NONE>(manifestBytes)

  function acquire(path: string): Open | Promise<Open> {
    const found = open.get(path)
    if (!found) return openShared(path)
    open.delete(path)
    open.set(path, found)
    found.users++
    return found
  }

  async function openShared(path: string): Promise<Open> {
    const started = opening.get(path) ?? openFirst(path)
    opening.set(path, started)
    const found = await started
    // So many others were opened in this very moment that it had to go again.
    if (found.isClosing) return acquire(path)
    found.users++
    return found
  }

  async function openFirst(path: string): Promise<Open> {
    let keptMs = 0
    try {
      const file = await openManifest(path).catch((error) => {
        keptMs = error instanceof UnreadableManifest ? RETRY_MS : 0
        throw error
      })
      const found = { file, number: ++lastNumber, users: 0, isClosing: false }
      open.set(path, found)
      closeOldest(path)
      return found
    } finally {
      if (keptMs > 0) setTimeout(() => opening.delete(path), keptMs).unref()
      else opening.delete(path)
    }
  }

  /** Those in use are closed when they are not any more. */
  function closeOldest(except?: string) {
    for (const [path, { users }] of open) {
      if (open.size <= openManifests) return
      if (path !== except && users === 0) closeUnused(path)
    }
  }

  function closeUnused(path: string) {
    const found = open.get(path)
    open.delete(path)
    if (!found) return
    found.isClosing = true
    if (found.users === 0) closeQuietly(found)
  }

  function release(found: Open) {
    found.users--
    if (found.isClosing && found.users === 0) closeQuietly(found)
    else if (open.size > openManifests) closeOldest()
  }

  return {
    /** What a request path means in the site of this manifest. The owner is whose share of the memory it takes. */
    async lookUp(owner: string, path: string, rawPath: string): Promise<Found> {
      const acquired = acquire(path)
      const found = acquired instanceof Promise ? await acquired : acquired
      const site: Site = {
        ...found.file.settings,
        find(address) {
          const name = `${found.number} ${address}`
          const before = known.get(owner, name)
          if (before !== undefined) return before === NONE ? undefined : before
          return found.file.find(address).then((file) => {
            known.set(owner, name, file ?? NONE, file ? FILE_BYTES : 0)
            return file
          })
        },
      }
      try {
        return await lookUp(site, rawPath)
      } finally {
        release(found)
      }
    },

    /** Those of others are closed, and forgotten with all that is known of them. */
    keepOnly(owners: ReadonlySet<string>, paths: ReadonlySet<string>) {
      known.keepOnly(owners)
      for (const path of [...open.keys()]) if (!paths.has(path)) closeUnused(path)
    },

    count: () => ({ open: open.size, bytes: known.bytes() }),
  }
}

const NONE = Symbol('there is no such file')

/** One answer, for those who ask rarely: nothing is kept. */
export async function lookUpOnce(path: string, rawPath: string): Promise<Found> {
  const file = await openManifest(path)
  try {
    return await lookUp({ ...file.settings, find: file.find }, rawPath)
  } finally {
    await file.close()
  }
}

/** A saved route table, and an output from before, may have one of the earlier format: it is converted when it is needed. */
async function openManifest(path: string): Promise<ManifestFile> {
  const folder = dirname(path)
  const present = basename(path) === LEGACY_MANIFEST_NAME ? join(folder, MANIFEST_NAME) : path
  try {
    return await openManifestFile(present)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await convertInTurn(folder)
    return openManifestFile(present)
  }
}

let lastConversion: Promise<unknown> = Promise.resolve()

/** One at a time: each may take much memory. */
function convertInTurn(variantsFolder: string): Promise<void> {
  const turn = lastConversion.then(async () => {
    const outcome = await inManifestThread({ kind: 'convert', variantsFolder }).catch((error: Error) => error)
    if (!('kind' in outcome) || outcome.kind !== 'done')
      throw new UnreadableManifest(
        `the list of a site's files in ${variantsFolder} cannot be read: ${outcome.message}; deploying the site again writes it anew`,
      )
  })
  lastConversion = turn.catch(() => undefined)
  return turn
}

function closeQuietly({ file }: Open) {
  // What was only read has nothing to lose.
  file.close().catch(() => undefined)
}
