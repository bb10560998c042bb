/**
 * What an environment keeps between its builds, beside installed packages: the package manager's own store, and what
 * compilers left to be faster next time. What a build fetched from a CMS is never kept: it would be published again.
 *
 * A build works on copies or on a layer above, and `commit` writes them back once it has succeeded. Until then, and if the
 * process dies, everything is as it was.
 */
import { execFile } from 'node:child_process'
import { lchown, lstat, mkdir, opendir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { removeTree } from '../../base/index.ts'
import type { Mount, Overlay } from '../../engines/index.ts'
import type { LineLog } from '../../storage/index.ts'
import type { Plan } from '../plan/plan.ts'
import { bytesInWords, inWords } from './log-words.ts'
import { isEmpty, isFolderIn, sizeOf } from './untrusted-folder.ts'
import type { Workspace } from './workspace.ts'

/** Where the store is seen. */
export const CACHE = '/cache'

/** What Node has compiled of the tools themselves, which are large programs: it saves one in fifteen seconds of a build. */
const NODE_CACHE = { to: '/node-cache', name: '.node' } as const

/** `HIT`: something of an earlier build went into this one, of so many bytes. */
export type CacheUse = {
  cache: 'packages' | 'store' | 'compile'
  state: 'HIT' | 'MISS' | 'DROPPED'
  bytes: number
  /** What was kept for the next build; absent where that is not known yet. */
  savedBytes?: number
}

/** Beyond this a cache is dropped instead of kept: it grows without end, or it was never one. */
export const CACHE_LIMITS = {
  store: { files: 500_000, bytes: 2 * 1024 ** 3 },
  compile: { files: 200_000, bytes: 1024 ** 3 },
}

type Parts = {
  /** The environment's own, which belongs to the app's user. */
  folder: string
  place: Workspace
  plan: Plan
  /** What the compilers run on: another version cannot be expected to read what this one left. */
  node: string
  isClean: boolean
  log: LineLog
}

export function createBuildCaches({ folder, place, plan, node, isClean, log }: Parts) {
  const [kept, keptAbout, store] = [join(folder, 'compile'), join(folder, 'compile.json'), join(folder, 'store')]
  const uses = new Map<CacheUse['cache'], CacheUse>()
  const { framework, rootDirectory, adapter } = plan
  const about = JSON.stringify({ framework, node, rootDirectory, adapter })
  let storeChanges: string | undefined
  let gathered: string | undefined

  function note(cache: CacheUse['cache'], state: CacheUse['state'], bytes: number) {
    uses.set(cache, { cache, state, bytes })
  }

  function saved(cache: CacheUse['cache'], savedBytes: number) {
    const use = uses.get(cache)
    if (use) use.savedBytes = savedBytes
  }

  return {
    note,
    saved,
    uses: (): CacheUse[] => [...uses.values()],
    /** Whether anything of earlier builds went into this one. */
    isWarm: (): boolean => [...uses.values()].some(({ state }) => state === 'HIT'),

    /** The package manager's store, for the time of an install. */
    async store(): Promise<{ mount: Mount; overlays: Overlay[] }> {
      if (isClean && !place.isLayered) await removeTree(store)
      await mkdir(store, { recursive: true, mode: 0o755 })
      await giveTo(place.user, store)
      const isFilled = !isClean && !(await isEmpty(store))
      note('store', isClean ? 'DROPPED' : isFilled ? 'HIT' : 'MISS', 0)
      if (!place.isLayered) return { mount: { from: store, to: CACHE, isWritable: true }, overlays: [] }
      const below = isClean ? await place.makeFolder('no-store') : store
      const { overlay, changes } = await place.overlay('store', [below])
      storeChanges = changes
      return { mount: { from: overlay.at, to: CACHE, isWritable: true }, overlays: [overlay] }
    },

    /** What Node keeps for itself while the app is built. */
    async nodeCache(): Promise<{ mount: Mount; environment: Record<string, string> }> {
      const from = await place.makeFolder('node-cache')
      return {
        mount: { from, to: NODE_CACHE.to, isWritable: true },
        environment: { NODE_COMPILE_CACHE: NODE_CACHE.to },
      }
    },

    /** Puts a copy of what compilers left into the work folder, and of what Node did beside it. */
    async restore(into: string) {
      const isUsable = (await readText(keptAbout)) === about
      if (isClean || !isUsable) return note('compile', isClean ? 'DROPPED' : 'MISS', 0)
      const restored: string[] = []
      let bytes = 0
      if (await isFolderIn(kept, NODE_CACHE.name)) {
        const own = await place.makeFolder('node-cache')
        await copyFolder(join(kept, NODE_CACHE.name), own)
      }
      for (const path of within(plan)) {
        if (!(await isFolderIn(kept, path)) || (await isThere(join(into, path)))) continue
        const size = await sizeOf(join(kept, path))
        if (size.bytes === 0 || !(await makeParents(into, path, place.user))) continue
        await copyFolder(join(kept, path), join(into, path))
        bytes += size.bytes
        restored.push(`${path} (${inWords(size)})`)
      }
      note('compile', restored.length > 0 ? 'HIT' : 'MISS', bytes)
      if (restored.length > 0) log.say('BUILDING', `Kept from the last build: ${restored.join(', ')}.`)
    },

    /** Takes what compilers left out of the work folder: the app does not need it to run. */
    async gather(from: string) {
      gathered = await place.makeFolder('compile')
      for (const path of within(plan)) {
        if (!(await isFolderIn(from, path))) continue
        await makeParents(gathered, path, place.user)
        await rename(join(from, path), join(gathered, path))
      }
      await rename(await place.makeFolder('node-cache'), join(gathered, NODE_CACHE.name))
    },

    /** After success: what was gathered takes the place of what was there, and the store gets what is new. */
    async commit() {
      if (gathered) await keepCompiled(gathered)
      if (storeChanges) {
        if (isClean) await removeTree(store)
        await merge(storeChanges, store)
      }
      const use = uses.get('store')
      if (!use) return
      const size = await sizeOf(store, CACHE_LIMITS.store)
      use.bytes = size.bytes
      use.savedBytes = size.bytes
      if (size.bytes <= CACHE_LIMITS.store.bytes && size.files <= CACHE_LIMITS.store.files) return
      use.savedBytes = 0
      log.say('BUILDING', `The store of packages is over ${bytesInWords(CACHE_LIMITS.store.bytes)} and is not kept.`)
      await removeTree(store)
    },
  }

  async function keepCompiled(fresh: string) {
    const size = await sizeOf(fresh, CACHE_LIMITS.compile)
    const isTooLarge = size.bytes > CACHE_LIMITS.compile.bytes || size.files > CACHE_LIMITS.compile.files
    // A cache is named valid last, and invalid first.
    await rm(keptAbout, { force: true })
    await removeTree(kept)
    saved('compile', 0)
    if (isTooLarge) {
      log.say(
        'BUILDING',
        `What the compilers left is over ${bytesInWords(CACHE_LIMITS.compile.bytes)} and is not kept.`,
      )
      return
    }
    const ofNode = await sizeOf(join(fresh, NODE_CACHE.name))
    const bytes = size.bytes - ofNode.bytes
    if (size.files > 0) {
      await rename(fresh, kept)
      await writeFile(keptAbout, about, { mode: 0o600 })
    }
    saved('compile', bytes)
    log.say(
      'BUILDING',
      bytes > 0
        ? `Kept for the next build: ${bytesInWords(bytes)} of what the compilers left.`
        : 'The compilers left nothing for the next build.',
    )
  }
}

export type BuildCaches = ReturnType<typeof createBuildCaches>

/** The folders to keep, relative to the top of the work folder; of two that lie in one another, the outer. */
function within({ caches, rootDirectory }: Plan): string[] {
  const paths = [...new Set(caches.compile.map((path) => join(rootDirectory, path)))]
  return paths.filter((path) => !paths.some((other) => other !== path && path.startsWith(`${other}/`)))
}

/** The folders above a path, for the app's user. False when something else is in their place, be it a link to a folder. */
async function makeParents(top: string, path: string, user: Workspace['user']): Promise<boolean> {
  let at = ''
  for (const step of dirname(path).split('/')) {
    at = join(at, step)
    if (await isFolderIn(top, at)) continue
    if (await isThere(join(top, at))) return false
    await mkdir(join(top, at), { mode: 0o755 })
    await giveTo(user, join(top, at))
  }
  return true
}

async function giveTo(user: Workspace['user'], folder: string) {
  if (user) await lchown(folder, user.uid, user.gid)
}

/** Owners and times stay: compilers look at both. Clones where the file system can. */
const copyFolder = (from: string, to: string) => promisify(execFile)('cp', ['-aT', '--reflink=auto', from, to])

/**
 * Moves what an overlay's layer of changes says into the layer below. Both were written by a tenant: whatever is not a
 * folder is replaced and never followed.
 */
async function merge(changes: string, target: string) {
  const below = await lstat(target).catch(absent)
  if (!below?.isDirectory()) {
    await removeTree(target)
    return rename(changes, target)
  }
  for await (const entry of await opendir(changes)) {
    // A name that is not UTF-8 cannot be opened by what was read of it: it is not kept.
    if (entry.name.includes('\u{fffd}')) continue
    const [from, to] = [join(changes, entry.name), join(target, entry.name)]
    if (entry.isDirectory()) await merge(from, to)
    else {
      const replaced = await lstat(to).catch(absent)
      if (replaced?.isDirectory()) await removeTree(to)
      // How an overlay says that something was deleted.
      if (!entry.isCharacterDevice()) await rename(from, to)
      else if (replaced && !replaced.isDirectory()) await unlink(to)
    }
  }
}

const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(absent)) !== undefined

const readText = async (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(absent)

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
