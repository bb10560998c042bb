/**
 * Copies of an environment's caches in the object store: fetched where this machine has none, and made after a good build. A
 * store that is away costs time in this build or in the next, and never the build.
 */
import { existsSync } from 'node:fs'
import { chown, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environment } from '../../apps/index.ts'
import { type Log, removeTree } from '../../base/index.ts'
import { type Build, inWords, type StoredCaches } from '../../builds/index.ts'
import type { Folders } from '../folders.ts'
import type { Progress } from './progress.ts'

type Parts = {
  log: Log
  folders: Pick<Folders, 'cacheOf' | 'userOf' | 'work'>
  /** Undefined where there is no object store: then nothing is done. */
  storedCaches: Omit<StoredCaches, 'collect'> | undefined
}

export function createCacheCopies({ log, folders, storedCaches }: Parts) {
  /** What went wrong is for the operator; the tenant reads what it means for the build. */
  const warn = (progress: Progress, sentence: string) => (error: unknown) => {
    log.warn({ err: error }, 'caches and the object store')
    progress.say(`Warning: ${sentence}`)
  }

  async function fetchInto(copies: Omit<StoredCaches, 'collect'>, given: Given) {
    const { environment, build, progress } = given
    const [user, folder] = [folders.userOf(environment), folders.cacheOf(environment.id)]
    const draft = join(folders.work(environment.id, build.id), 'stored-cache')
    await removeTree(draft)
    const size = await copies.restore(environment.id, draft, { user, signal: progress.signal })
    if (!size) return
    if (user) await chown(draft, user.uid, user.gid)
    await rename(draft, folder)
    progress.say(`Fetched the caches of an earlier build from the object store: ${inWords(size)}.`)
  }

  return {
    /** To be called before the caches are used. */
    async fetch(given: Given) {
      if (!storedCaches || existsSync(folders.cacheOf(given.environment.id))) return
      await fetchInto(storedCaches, given).catch(
        warn(given.progress, 'the caches of earlier builds could not be fetched. The build begins without them.'),
      )
    },

    /** To be called when the build is live, since it may take a while. A copy of before a Clean Rebuild is not kept. */
    async save({ environment: { id }, build, progress }: Given) {
      if (!storedCaches) return
      try {
        if (build.isClean) await storedCaches.forget(id)
        if (!existsSync(folders.cacheOf(id)) || !(await storedCaches.isDue(id))) return
        const size = await storedCaches.save(id, folders.cacheOf(id), progress.signal)
        if (size) progress.say(`Copied the caches to the object store, for other machines: ${inWords(size)}.`)
      } catch (error) {
        warn(progress, 'the caches could not be copied to the object store. The next build tries again.')(error)
      }
    },
  }
}

type Given = { environment: Environment; build: Build; progress: Progress }

export type CacheCopies = ReturnType<typeof createCacheCopies>
