/**
 * The manifests in use. A request costs a few short reads of its site's manifest, or none if the address was requested
 * recently, regardless of how many files the site has. Files are kept open, and addresses in memory, within bounds, and
 * the addresses of one site never push out those of another that has fewer.
 */
import { basename, dirname, join } from 'node:path'
import type { Limits } from '../limits.ts'
import { createMatcher, type RuleMatcher } from '../rules/matcher.ts'
import { createShares } from '../shares.ts'
import { type Asked, type LookUpResult, lookUp } from './look-up.ts'
import { MANIFEST_NAME, type ManifestFile, openManifestFile, UnreadableManifest } from './manifest-file.ts'
import { inManifestThread, LEGACY_MANIFEST_NAME } from './manifest-thread.ts'
import type { StaticFile } from './types.ts'

type Open = {
  file: ManifestFile
  /** A short name for its path in the keys of the address cache, which are built for every request. */
  number: number
  rules: RuleMatcher | undefined
  users: number
  isClosing: boolean
}

/** Memory of a file's sizes, digest and names. */
const FILE_BYTES = 512
/** An unreadable manifest of the earlier format is not converted again for every request. */
const RETRY_MS = 10_000

type Bounds = Pick<Limits, 'openManifests' | 'manifestBytes' | 'ruleBytes'>

export function createManifests({ openManifests, manifestBytes, ruleBytes }: Bounds) {
  /** In the order of their last use. */
  const open = new Map<string, Open>()
  const opening = new Map<string, Promise<Open>>()
  let lastNumber = 0
  /** Of the rules of open manifests, as they are stored. */
  let openRuleBytes = 0
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
    // So many others were opened meanwhile that it was closed again.
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
      const found = { file, number: ++lastNumber, rules: matcherOf(file), users: 0, isClosing: false }
      open.set(path, found)
      openRuleBytes += ruleBytesOf(found)
      closeOldest(path)
      return found
    } finally {
      if (keptMs > 0) setTimeout(() => opening.delete(path), keptMs).unref()
      else opening.delete(path)
    }
  }

  /** Those in use are closed once they are released. */
  function closeOldest(except?: string) {
    for (const [path, found] of open) {
      const isTooMany = open.size > openManifests
      if (!isTooMany && openRuleBytes <= ruleBytes) return
      // Those without rules are not closed for the memory that rules take.
      const isWorthIt = isTooMany || found.rules !== undefined
      if (path !== except && found.users === 0 && isWorthIt) closeUnused(path)
    }
  }

  function closeUnused(path: string) {
    const found = open.get(path)
    open.delete(path)
    if (!found) return
    openRuleBytes -= ruleBytesOf(found)
    found.isClosing = true
    if (found.users === 0) closeQuietly(found)
  }

  function release(found: Open) {
    found.users--
    if (found.isClosing && found.users === 0) closeQuietly(found)
    else if (open.size > openManifests || openRuleBytes > ruleBytes) closeOldest()
  }

  async function using<T>(path: string, use: (found: Open) => Promise<T>): Promise<T> {
    const acquired = acquire(path)
    const found = acquired instanceof Promise ? await acquired : acquired
    try {
      return await use(found)
    } finally {
      release(found)
    }
  }

  function find(owner: string, { file, number }: Open, address: string): Found | Promise<Found> {
    const name = `${number} ${address}`
    const before = known.get(owner, name)
    if (before !== undefined) return before === NONE ? undefined : before
    return file.find(address).then((found) => {
      known.set(owner, name, found ?? NONE, found ? FILE_BYTES : 0)
      return found
    })
  }

  return {
    /**
     * What a request path means in the site of this manifest. The owner is the environment whose share of memory it
     * uses.
     */
    lookUp: (owner: string, path: string, asked: Asked): Promise<LookUpResult> =>
      using(path, (found) =>
        lookUp({ ...found.file.settings, rules: found.rules, find: (address) => find(owner, found, address) }, asked),
      ),

    /** The file of exactly this address. */
    find: (owner: string, path: string, address: string): Promise<StaticFile | undefined> =>
      using(path, async (found) => find(owner, found, address)),

    /** Forgets the addresses of these owners, and closes these manifests. */
    forget(owners: readonly string[], paths: readonly string[]) {
      for (const owner of owners) known.forget(owner)
      for (const path of paths) closeUnused(path)
    },

    count: () => ({ open: open.size, bytes: known.bytes() }),
  }
}

const matcherOf = ({ settings: { rules } }: ManifestFile): RuleMatcher | undefined => rules && createMatcher(rules)

const ruleBytesOf = ({ file, rules }: Open): number => (rules ? file.settingsBytes : 0)
type Found = StaticFile | undefined

const NONE = Symbol('there is no such file')

/** For rare look-ups: nothing is kept open or in memory. */
export async function lookUpOnce(path: string, asked: Asked): Promise<LookUpResult> {
  const file = await openManifest(path)
  try {
    return await lookUp({ ...file.settings, rules: matcherOf(file), find: file.find }, asked)
  } finally {
    await file.close()
  }
}

/** A saved route table or an old output may have a manifest of the earlier format, which is converted on first use. */
async function openManifest(path: string): Promise<ManifestFile> {
  const folder = dirname(path)
  const isOfOutput = [MANIFEST_NAME, LEGACY_MANIFEST_NAME].includes(basename(path))
  const present = basename(path) === LEGACY_MANIFEST_NAME ? join(folder, MANIFEST_NAME) : path
  try {
    return await openManifestFile(present)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (!isOfOutput) throw new UnreadableManifest(`the list of files ${path} is missing`)
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
        `the list of a site's files in ${variantsFolder} cannot be read: ${outcome.message}; deploying the site again rewrites it`,
      )
  })
  lastConversion = turn.catch(() => undefined)
  return turn
}

function closeQuietly({ file }: Open) {
  // It was opened for reading only, so a failed close loses nothing.
  file.close().catch(() => undefined)
}
