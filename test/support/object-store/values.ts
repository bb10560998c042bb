/** The key-value store on rows and an object store, beside the folder that values were in before. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createLog, Secret } from '../../../src/base/index.ts'
import { createFolderKv, openStoredKv } from '../../../src/kv/index.ts'
import { openS3Store } from '../../../src/storage/blobs/s3/blobs-s3.ts'
import { TIMEOUTS } from '../../../src/storage/blobs/s3/client.ts'
import { BLOCK, type KvGiven } from '../../suites/kv.ts'
import type { Store } from '../../suites/object-store.ts'
import { temporaryFolder } from '../folder.ts'
import { openModules } from '../modules/deployments.ts'
import { BUCKET, KEYS, startS3Server } from './s3-server.ts'

/** On the small server of the tests. */
export async function openStoredValues(t: TestContext, given: KvGiven = {}) {
  const server = await startS3Server(t)
  const { endpoint, region } = server
  return {
    server,
    stored: () => [...server.objects.keys()].filter((key) => key.includes('/values/')),
    ...(await openValuesOn(t, { endpoint, region, bucket: BUCKET, ...KEYS }, given)),
  }
}

let prefixes = 0

export async function openValuesOn(t: TestContext, store: Store, { blocks = 4, ...given }: KvGiven = {}) {
  const { endpoint, secret, ...bucket } = store
  const prefix = `values/${++prefixes}`
  const modules = await openModules(t)
  const { sql, clock, environments, folders } = modules
  const limits = { totalBytes: blocks * BLOCK }
  const held = { isHeld: false }

  /** A process on a machine of its own, with its own copies. */
  async function openOne() {
    const cache = await temporaryFolder(t)
    const inStore = await openS3Store({
      bucket: { ...bucket, endpoint: new URL(endpoint), secret: new Secret(secret), isPathStyle: true },
      prefix,
      owner: 'tests',
      cache: { folder: cache, maxBytes: 1e9 },
      timeouts: { ...TIMEOUTS, writeMs: 1000, readMs: 60_000, pauseMs: 2 },
    })
    t.after(inStore.close)
    const blobs = inStore.blobs({ folder: 'values', isForCallers: true, isUnique: true })
    const values = await openStoredKv({
      ...{ sql, clock, blobs, folders, limits, log: createLog('silent'), exists: environments.exists },
      ...{ isHeld: async () => held.isHeld, ...given },
    })
    t.after(async () => {
      await values.stop(1000)
      await values.settled()
    })
    return { values, blobs, cache }
  }

  const { values, blobs, cache } = await openOne()
  const [ours, theirs] = [(await modules.environment()).id, (await modules.environment()).id]
  return {
    ...{ modules, sql, clock, environments, folders, held, values, blobs, ours, theirs },
    start: async () => (await openOne()).values,
    /** As a service without an object store keeps them. */
    files: createFolderKv({ clock, folderOf: folders.values, limits }),
    filesOf: async (id: string) => (await readdir(folders.values(id)).catch(() => [])).length,
    async emptyCache() {
      for (const name of await readdir(cache)) if (name !== 'aside') await rm(join(cache, name), { recursive: true })
    },
  }
}
