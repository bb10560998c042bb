/** What the service keeps as files in the data folder. */
import { createArchives } from '../archives/index.ts'
import {
  createOutputs,
  createPackageStore,
  createStoredCaches,
  createTarballStore,
  DEFAULT_OUTPUT_LIMITS,
} from '../builds/index.ts'
import type { DataFiles } from '../data-files.ts'
import { type BlobStores, type Database, openBlobs } from '../data-folder.ts'
import type { Config } from '../settings.ts'
import type { Snapshots } from '../snapshots/index.ts'
import { type Blobs, createBallast, openLineLogs } from '../storage/index.ts'
import { version } from '../version.ts'
import { archiveLimits } from './limits.ts'

type Parts = {
  config: Config
  files: DataFiles
  database: Database
  /** The id of the master key, which no other service has. */
  keyId: string
  snapshotsIn(blobs: Blobs): Snapshots
}

export async function openStores({ config, files, database, keyId, snapshotsIn }: Parts) {
  const { sql, clock, newId } = database
  const blobs = await openBlobs(files, config, keyId)
  const archives = createArchives({ blobs: blobs.archives, limits: archiveLimits(config) })
  const outputLimits = { ...DEFAULT_OUTPUT_LIMITS, files: config.outputFiles }
  const outputs = createOutputs({ folder: files.outputs, limits: outputLimits })
  await outputs.sweep()
  const images = await openRegistry({ config, files, database })
  await images?.sweep()
  return {
    archives,
    /** Packs of repositories are in the same store. */
    packs: blobs.archives,
    /** So are snapshots of content. */
    snapshots: snapshotsIn(blobs.archives),
    sharesArchives: blobs.isRemote,
    outputs,
    images,
    packages: createPackageStore({ sql, clock, newId, folder: files.packages }),
    tarballs: createTarballStore({ folder: files.tarballs, reserve: config.diskReserve }),
    ...(await openLineLogs({
      folder: files.logs,
      sql,
      clock,
      blobs: blobs.logs,
      isMoving: blobs.isRemote,
      isShared: config.engine === 'swarm',
    })),
    storedCaches: await openStoredCaches(database, blobs),
    valueBlobs: blobs.values,
    ballast: createBallast(files.ballast),
  }
}

/** Undefined where there is no object store; then no other module is loaded. */
async function openStoredCaches({ sql, clock }: Database, { caches: blobs }: BlobStores) {
  if (!blobs) return undefined
  const { packFolder: pack, unpackFolder: unpack } = await import('../images/index.ts')
  return createStoredCaches({ sql, clock, blobs, pack, unpack })
}

/** Undefined where no registry is set; then its module is not loaded. */
async function openRegistry({ config, files, database }: Pick<Parts, 'config' | 'files' | 'database'>) {
  const { registry } = config
  if (registry === undefined) return undefined
  const { openImages } = await import('../images/index.ts')
  const { sql, clock } = database
  // Packages may be larger than an output.
  const limits = {
    files: Math.max(config.outputFiles, config.buildFiles),
    bytes: Math.max(DEFAULT_OUTPUT_LIMITS.bytes, config.buildDisk),
  }
  const settings = { ...config, registry }
  return openImages({ sql, clock, settings, folder: files.images, limits, userAgent: `headland/${version}` })
}

export type Stores = Awaited<ReturnType<typeof openStores>>
