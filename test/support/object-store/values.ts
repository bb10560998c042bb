/** The key-value store on rows and the small server for tests, beside the folder that values were in before. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createLog, Secret } from '../../../src/base/index.ts'
import { createFolderKv, openStoredKv } from '../../../src/kv/index.ts'
import { openS3Store } from '../../../src/storage/blobs/s3/blobs-s3.ts'
import { TIMEOUTS } from '../../../src/storage/blobs/s3/client.ts'
import { BLOCK, type KvGiven } from '../../suites/kv.ts'
import { temporaryFolder } from '../folder.ts'
import { openModules } from '../modules/deployments.ts'
import { BUCKET, KEYS, startS3Server } from './s3-server.ts'

export async function openStoredValues(t: TestContext, { blocks = 4, ...given }: KvGiven = {}) {
  const server = await startS3Server(t)
  const modules = await openModules(t)
  const { sql, clock, environments, folders } = modules
  const limits = { totalBytes: blocks * BLOCK }
  const held = { isHeld: false }

  /** A process on a machine of its own, with its own copies. */
  async function openOne() {
    const cache = await temporaryFolder(t)
    const inStore = await openS3Store({
      bucket: {
        ...{ endpoint: new URL(server.endpoint), bucket: BUCKET, region: server.region, isPathStyle: true },
        ...{ keyId: KEYS.keyId, secret: new Secret(KEYS.secret) },
      },
      prefix: 'values-test',
      owner: 'tests',
      cache: { folder: cache, maxBytes: 1e9 },
      timeouts: { ...TIMEOUTS, writeMs: 300, readMs: 60_000, pauseMs: 2 },
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
    ...{ server, modules, sql, clock, environments, folders, held, values, blobs, ours, theirs },
    start: async () => (await openOne()).values,
    /** As a service without an object store keeps them. */
    files: createFolderKv({ clock, folderOf: folders.values, limits }),
    filesOf: async (id: string) => (await readdir(folders.values(id)).catch(() => [])).length,
    stored: () => [...server.objects.keys()].filter((key) => key.startsWith('values-test/values/')),
    async emptyCache() {
      for (const name of await readdir(cache)) if (name !== 'aside') await rm(join(cache, name), { recursive: true })
    },
  }
}
