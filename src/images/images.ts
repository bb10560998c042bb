/**
 * Outputs as images in a registry: pushed once, pulled where their files are missing, and deleted when their output is gone.
 * A push records the image before its manifest is in the registry, and a deletion forgets it last: so the registry never has
 * a manifest that is not known here, wherever a process dies.
 */
import { type Clock, createTurns, removeTree } from '../base/index.ts'
import type { Digest, Sql } from '../storage/index.ts'
import { toProblem } from './failure.ts'
import type { LayerLimits } from './layers/unpack.ts'
import { referenceOf } from './names.ts'
import { createMakeImage, type Preparation, type Prepared, type Publication, type Published } from './publish.ts'
import { createPull, type Destination, type Fetched, type PullOptions } from './pull.ts'
import { createImageRecords, type ImageRecord } from './records.ts'
import type { Waiting } from './registry/answers.ts'
import type { RegistryClient } from './registry/client.ts'
import { RegistryRefused } from './registry/problem.ts'

type Parts = {
  sql: Sql
  clock: Clock
  client: RegistryClient
  /** Above the accounts' repositories; may be empty. */
  prefix: string
  /** For layers that are being written or read. */
  folder: string
  limits: LayerLimits
}

/** Nothing waits for a deletion, and the next collection comes. */
const COLLECTING = { timeoutMs: 2000 }

const NOT_STORED = toProblem('The output could not be stored as an image')
const NOT_FETCHED = toProblem('The files of this deployment are not on this machine, and its image could not be got')

export function createImages({ sql, clock, client, prefix, folder, limits }: Parts) {
  const records = createImageRecords({ sql, clock })
  // A manifest that is pushed again must not be deleted at the same time.
  const inTurn = createTurns()
  const host = new URL(client.origin).host

  const toReference = ({ repository, manifest }: Pick<ImageRecord, 'repository' | 'manifest'>): string =>
    referenceOf(host, repository, manifest)

  const { inScratch, pullManifest, pullLayers } = createPull({ client, folder, limits })
  const { prepare, make } = createMakeImage({ client, records, prefix, inTurn, toReference })

  return {
    /** Pushes layers of an image before the rest of it is known. A layer with a name is not packed again by `publish`. */
    prepare: (preparation: Preparation, waiting: Waiting = {}): Promise<Prepared> =>
      inScratch((scratch) => prepare(preparation, { ...waiting, scratch })).catch(NOT_STORED),

    /** Resolves when the registry has the image of an output. */
    async publish(
      publication: Publication,
      waiting: Waiting = {},
      prepared: readonly Prepared[] = [],
    ): Promise<Published> {
      const earlier = await records.find(publication.output)
      const look = () => stillThere(publication.output, waiting)
      const record = earlier && (await inTurn(earlier.manifest, look).catch(NOT_STORED))
      if (!record) return inScratch((scratch) => make(publication, prepared, { ...waiting, scratch })).catch(NOT_STORED)
      const known = { reference: toReference(record), isKnown: true, bytes: record.bytes }
      return { ...known, layers: 0, sentLayers: 0, sentBytes: 0, leftOut: [] }
    },

    /** The references of outputs that are in the registry. */
    async referencesOf(outputs: readonly Digest[]): Promise<Map<Digest, string>> {
      const found = await records.pushed([...new Set(outputs)])
      return new Map(found.map((record) => [record.output, toReference(record)]))
    },

    /** Writes layers of an output's image into new folders. Every byte is verified before it is unpacked. */
    fetch: (...args: Parameters<typeof fetchLayers>): Promise<Fetched> => fetchLayers(...args).catch(NOT_FETCHED),

    /** Deletes images whose outputs are not needed any more, and returns how many. */
    async collect(isNeeded: (output: Digest) => Promise<boolean>): Promise<number> {
      await records.forgetOldLayers()
      let count = 0
      for (const record of await records.all()) {
        if (await isNeeded(record.output)) continue
        await inTurn(record.manifest, async () => {
          // An output may have been made again since.
          if (await isNeeded(record.output)) return
          if (!(await records.isShared(record)))
            await client.deleteManifest(record.repository, record.manifest, COLLECTING)
          await records.forget(record.output)
          count += 1
        })
      }
      return count
    },

    /** A new folder on the disk of the data, for as long as it is used. */
    inScratch,

    /** Removes what a dead process left. Only for the start of the service. */
    sweep: (): Promise<void> => removeTree(folder),

    close: () => client.close(),
  }

  async function fetchLayers(
    output: Digest,
    destinations: readonly Destination[],
    options: PullOptions,
  ): Promise<Fetched> {
    const record = await records.find(output)
    if (!record?.isPushed) throw new RegistryRefused(`The registry has no image of the output ${output}.`, 404)
    return pullLayers(record, await pullManifest(record, options), destinations, options)
  }

  /** Undefined where the image was deleted, here or in the registry. */
  async function stillThere(output: Digest, waiting: Waiting): Promise<ImageRecord | undefined> {
    const record = await records.find(output)
    const isThere = record?.isPushed && (await client.hasManifest(record.repository, record.manifest, waiting))
    return isThere ? record : undefined
  }
}

export type Images = ReturnType<typeof createImages>
