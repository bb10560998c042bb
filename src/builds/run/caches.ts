/**
 * The caches that an environment keeps between its builds, beside installed packages: the store of the package manager, and
 * the caches of compilers, and the lockfile of an app that has none. Content that a build fetched from a CMS is never kept, since it would be published again.
 *
 * A build works on copies or on an overlay, and `commit` writes them back once it has succeeded. Until then, and if the
 * process dies, the caches stay unchanged.
 */
import { execFile } from 'node:child_process'
import { lchown, lstat, mkdir, opendir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { absent, removeTree } from '../../base/index.ts'
import type { Mount, Overlay } from '../../engines/index.ts'
import type { LineLog } from '../../storage/index.ts'
import type { Plan } from '../plan/plan.ts'
import { keepLockfile, type Lockfile, readLockfile } from './kept-lockfile.ts'
import { bytesInWords, inWords } from './log-words.ts'
import { isEmpty, isFolderIn, sizeOf } from './untrusted-folder.ts'
import type { Workspace } from './workspace.ts'

/** Where the store is mounted inside the sandbox. */
export const CACHE = '/cache'

/** Node's compile cache for the build tools, which are large programs: it saves one fifteenth of the time of a build. */
const NODE_CACHE = { to: '/node-cache', name: '.node' } as const

/** `HIT`: this build used `bytes` of an earlier build. */
export type CacheUse = {
  cache: 'packages' | 'store' | 'compile'
  state: 'HIT' | 'MISS' | 'DROPPED'
  bytes: number
  /** What was kept for the next build; absent where that is not known yet. */
  savedBytes?: number
}

/** A cache above these limits is dropped. */
export const CACHE_LIMITS = {
  store: { files: 500_000, bytes: 2 * 1024 ** 3 },
  compile: { files: 200_000, bytes: 1024 ** 3 },
}

type Parts = {
  /** The cache folder of the environment, which belongs to the app's user. */
  folder: string
  workspace: Workspace
  plan: Plan
  /** The version of Node: another version may not be able to read the caches of compilers. */
  node: string
  isClean: boolean
  log: LineLog
}

export function createBuildCaches({ folder, workspace, plan, node, isClean, log }: Parts) {
  const [kept, keyFile, store] = [join(folder, 'compile'), join(folder, 'compile.json'), join(folder, 'store')]
  const uses = new Map<CacheUse['cache'], CacheUse>()
  const { framework, rootDirectory, adapter } = plan
  const cacheKey = JSON.stringify({ framework, node, rootDirectory, adapter })
  let storeChanges: string | undefined
  let gathered: string | undefined
  let lockfile: Lockfile | undefined

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
    /** Whether this build used anything of earlier builds. */
    isWarm: (): boolean => [...uses.values()].some(({ state }) => state === 'HIT'),

    /** Where the store of the package manager is kept. */
    storeFolder: store,
    /** The store of the package manager, mounted during an install. `above`: a layer that goes before what the store has. */
    async store(above?: string): Promise<{ mount: Mount; overlays: Overlay[] }> {
      if (isClean && !workspace.isLayered) await removeTree(store)
      await mkdir(store, { recursive: true, mode: 0o755 })
      await changeOwner(workspace.user, store)
      const isFilled = !isClean && !(await isEmpty(store))
      note('store', isClean ? 'DROPPED' : isFilled ? 'HIT' : 'MISS', 0)
      if (!workspace.isLayered) return { mount: { from: store, to: CACHE, isWritable: true }, overlays: [] }
      const below = isClean ? await workspace.makeFolder('no-store') : store
      const { overlay, changes } = await workspace.overlay('store', [...(above ? [above] : []), below])
      storeChanges = changes
      return { mount: { from: overlay.at, to: CACHE, isWritable: true }, overlays: [overlay] }
    },

    /** The lockfile of the last good build of an app that has none, where the same files decide. */
    async lockfile(basis: string): Promise<Lockfile | undefined> {
      const found = isClean ? undefined : await readLockfile(folder)
      return found?.basis === basis ? found : undefined
    },
    /** For the next build, if this one succeeds. */
    keepLockfile(made: Lockfile) {
      lockfile = made
    },

    /** Node's own compile cache, mounted during the build. */
    async nodeCache(): Promise<{ mount: Mount; environment: Record<string, string> }> {
      const from = await workspace.makeFolder('node-cache')
      return {
        mount: { from, to: NODE_CACHE.to, isWritable: true },
        environment: { NODE_COMPILE_CACHE: NODE_CACHE.to },
      }
    },

    /** Copies the kept caches of compilers into the work folder, and Node's compile cache beside it. */
    async restore(into: string) {
      const isUsable = (await readText(keyFile)) === cacheKey
      if (isClean || !isUsable) return note('compile', isClean ? 'DROPPED' : 'MISS', 0)
      const restored: string[] = []
      let bytes = 0
      if (await isFolderIn(kept, NODE_CACHE.name)) {
        const own = await workspace.makeFolder('node-cache')
        await copyFolder(join(kept, NODE_CACHE.name), own)
      }
      for (const path of compileFolders(plan)) {
        if (!(await isFolderIn(kept, path)) || (await exists(join(into, path)))) continue
        const size = await sizeOf(join(kept, path))
        if (size.bytes === 0 || !(await makeParents(into, path, workspace.user))) continue
        await copyFolder(join(kept, path), join(into, path))
        bytes += size.bytes
        restored.push(`${path} (${inWords(size)})`)
      }
      note('compile', restored.length > 0 ? 'HIT' : 'MISS', bytes)
      if (restored.length > 0) log.say('BUILDING', `Kept from the last build: ${restored.join(', ')}.`)
    },

    /** Moves the caches of compilers out of the work folder: the app does not need them to run. */
    async gather(from: string) {
      gathered = await workspace.makeFolder('compile')
      for (const path of compileFolders(plan)) {
        if (!(await isFolderIn(from, path))) continue
        await makeParents(gathered, path, workspace.user)
        await rename(join(from, path), join(gathered, path))
      }
      await rename(await workspace.makeFolder('node-cache'), join(gathered, NODE_CACHE.name))
    },

    /** After a successful build: the gathered caches replace the kept ones, and the store gets its new files. */
    async commit() {
      if (gathered) await keepCompiled(gathered)
      await keepLockfile(folder, lockfile)
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
      log.say(
        'BUILDING',
        `The store of the package manager is larger than ${bytesInWords(CACHE_LIMITS.store.bytes)} and is not kept.`,
      )
      await removeTree(store)
    },
  }

  async function keepCompiled(fresh: string) {
    const size = await sizeOf(fresh, CACHE_LIMITS.compile)
    const isTooLarge = size.bytes > CACHE_LIMITS.compile.bytes || size.files > CACHE_LIMITS.compile.files
    // The file that marks the cache as valid is removed first and written last.
    await rm(keyFile, { force: true })
    await removeTree(kept)
    saved('compile', 0)
    if (isTooLarge) {
      log.say(
        'BUILDING',
        `The compiler caches are larger than ${bytesInWords(CACHE_LIMITS.compile.bytes)} and are not kept.`,
      )
      return
    }
    const nodeCacheSize = await sizeOf(join(fresh, NODE_CACHE.name))
    const bytes = size.bytes - nodeCacheSize.bytes
    if (size.files > 0) {
      await rename(fresh, kept)
      await writeFile(keyFile, cacheKey, { mode: 0o600 })
    }
    saved('compile', bytes)
    log.say(
      'BUILDING',
      bytes > 0
        ? `Kept for the next build: ${bytesInWords(bytes)} of compiler caches.`
        : 'There are no compiler caches for the next build.',
    )
  }
}

export type BuildCaches = ReturnType<typeof createBuildCaches>

/** The folders to keep, relative to the top of the work folder; of two nested folders, the outer one. */
function compileFolders({ caches, rootDirectory }: Plan): string[] {
  const paths = [...new Set(caches.compile.map((path) => join(rootDirectory, path)))]
  return paths.filter((path) => !paths.some((other) => other !== path && path.startsWith(`${other}/`)))
}

/** Makes the folders above a path for the app's user. False when one of them exists as something else, such as a link. */
async function makeParents(top: string, path: string, user: Workspace['user']): Promise<boolean> {
  let at = ''
  for (const step of dirname(path).split('/')) {
    at = join(at, step)
    if (await isFolderIn(top, at)) continue
    if (await exists(join(top, at))) return false
    await mkdir(join(top, at), { mode: 0o755 })
    await changeOwner(user, join(top, at))
  }
  return true
}

async function changeOwner(user: Workspace['user'], folder: string) {
  if (user) await lchown(folder, user.uid, user.gid)
}

/** Keeps owners and times, which compilers check. Uses copy-on-write where the file system supports it. */
const copyFolder = (from: string, to: string) => promisify(execFile)('cp', ['-aT', '--reflink=auto', from, to])

/**
 * Merges the upper layer of an overlay into the layer below. Both were written by a tenant: links are replaced and never
 * followed.
 */
async function merge(changes: string, target: string) {
  const below = await lstat(target).catch(absent)
  if (!below?.isDirectory()) {
    await removeTree(target)
    return rename(changes, target)
  }
  for await (const entry of await opendir(changes)) {
    // A name that is not UTF-8 cannot be opened by its decoded form, so it is not kept.
    if (entry.name.includes('\u{fffd}')) continue
    const [from, to] = [join(changes, entry.name), join(target, entry.name)]
    if (entry.isDirectory()) await merge(from, to)
    else {
      const replaced = await lstat(to).catch(absent)
      if (replaced?.isDirectory()) await removeTree(to)
      // A character device in the upper layer marks a deleted file.
      if (!entry.isCharacterDevice()) await rename(from, to)
      else if (replaced && !replaced.isDirectory()) await unlink(to)
    }
  }
}

const exists = async (path: string): Promise<boolean> => (await lstat(path).catch(absent)) !== undefined

const readText = async (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(absent)
