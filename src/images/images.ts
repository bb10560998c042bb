/**
 * Outputs as images in a registry: pushed once, pulled where their files are missing, and deleted when their output is gone.
 * A push records the image before its manifest is in the registry, and a deletion forgets it first: so the registry never has
 * a manifest that is not known here, unless a process dies in between, and then the manifest is deleted or pushed again.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, createTurns, removeTree } from '../base/index.ts'
import type { Digest, Sql } from '../storage/index.ts'
import type { Content } from './layers/folder.ts'
import { type PackedLayer, packLayer } from './layers/pack.ts'
import { type LayerLimits, type UnpackOptions, unpackLayer } from './layers/unpack.ts'
import { configOf, type ImageConfig, type Layer, type LayerKind, layersIn, manifestOf } from './manifest.ts'
import { referenceOf, repositoryOf, tagOf } from './names.ts'
import { createImageRecords, type ImageRecord } from './records.ts'
import { digestOf, type RegistryClient, type Waiting } from './registry/client.ts'
import { RegistryRefused } from './registry/problem.ts'
import { LayerBroken } from './tar/entry.ts'

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

export type LayerSource = {
  kind: LayerKind
  /** The same name means the same bytes: such a layer is not packed again. */
  name?: string
  contents(): AsyncIterable<Content>
}

export type Publication = {
  output: Digest
  account: string
  app: string
  layers: readonly LayerSource[]
  config: ImageConfig
}

export type Published = {
  reference: string
  /** Whether all of it was in the registry before. */
  isKnown: boolean
  layers: number
  bytes: number
  /** What was sent of it. */
  sentLayers: number
  sentBytes: number
}

/** Where a layer goes: the folder is made. Layers without one are not read. */
export type Destination = { kind: LayerKind; folder: string; at: string }

export type Fetched = { bytes: number }

/** Nothing waits for a deletion, and the next collection comes. */
const COLLECTING = { patienceMs: 2000 }

export function createImages({ sql, clock, client, prefix, folder, limits }: Parts) {
  const records = createImageRecords({ sql, clock })
  // A manifest that is pushed again must not be deleted at the same time.
  const inTurn = createTurns()
  const host = new URL(client.origin).host

  const toReference = ({ repository, manifest }: Pick<ImageRecord, 'repository' | 'manifest'>): string =>
    referenceOf(host, repository, manifest)

  /** A folder of its own, which is removed with all that is in it. */
  async function inScratch<T>(use: (scratch: string) => Promise<T>): Promise<T> {
    const scratch = join(folder, randomUUID())
    await mkdir(scratch, { recursive: true, mode: 0o700 })
    try {
      return await use(scratch)
    } finally {
      await removeTree(scratch)
    }
  }

  type Placed = { layer: Layer; isSent: boolean }

  async function place(repository: string, source: LayerSource, scratch: string, waiting: Waiting): Promise<Placed> {
    const { kind, name } = source
    const known = name === undefined ? undefined : await records.layer(name)
    if (known && (await client.hasBlob(repository, known, waiting))) return { layer: { ...known, kind }, isSent: false }
    const file = join(scratch, kind)
    const packed: PackedLayer = await packLayer(source.contents(), file, waiting.signal)
    const isSent = await client.pushBlob(repository, { ...packed, file }, waiting)
    if (name !== undefined) await records.keepLayer(name, packed)
    return { layer: { ...packed, kind }, isSent }
  }

  async function make(publication: Publication, scratch: string, waiting: Waiting): Promise<Published> {
    const { output, account, app } = publication
    const repository = repositoryOf(prefix, account, app)
    const placings = publication.layers.map((source) => place(repository, source, scratch, waiting))
    // Waits for all of them, so that none goes on in a folder that is removed.
    const placed = (await Promise.allSettled(placings)).map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
    const layers = placed.map(({ layer }) => layer)
    const config = configOf(publication.config, layers)
    const blob = { digest: digestOf(config), size: config.byteLength, file: join(scratch, 'config') }
    await writeFile(blob.file, config, { mode: 0o600 })
    await client.pushBlob(repository, blob, waiting)
    const bytes = manifestOf(blob, layers)
    const manifest = digestOf(bytes)
    const size = layers.reduce((sum, layer) => sum + layer.size, 0)
    await inTurn(manifest, async () => {
      await records.announce({ output, repository, manifest, bytes: size })
      await client.pushManifest(repository, bytes, [tagOf(output)], waiting)
      await records.pushedNow(output)
    })
    const sent = placed.filter(({ isSent }) => isSent)
    return {
      reference: toReference({ repository, manifest }),
      isKnown: false,
      layers: layers.length,
      bytes: size,
      sentLayers: sent.length,
      sentBytes: sent.reduce((sum, { layer }) => sum + layer.size, 0),
    }
  }

  return {
    /** Resolves when the registry has the image of an output. */
    async publish(publication: Publication, waiting: Waiting = {}): Promise<Published> {
      const earlier = await records.find(publication.output)
      const record = earlier && (await inTurn(earlier.manifest, () => stillThere(publication.output, waiting)))
      if (!record) return inScratch((scratch) => make(publication, scratch, waiting))
      const known = { reference: toReference(record), isKnown: true, bytes: record.bytes }
      return { ...known, layers: publication.layers.length, sentLayers: 0, sentBytes: 0 }
    },

    /** The references of outputs that are in the registry. */
    async referencesOf(outputs: readonly Digest[]): Promise<Map<Digest, string>> {
      const found = await records.pushed([...new Set(outputs)])
      return new Map(found.map((record) => [record.output, toReference(record)]))
    },

    /** Whether the registry should have the image. */
    has: async (output: Digest): Promise<boolean> => (await records.find(output))?.isPushed === true,

    /** Writes layers of an output's image into new folders. Every byte is verified before it is unpacked. */
    async fetch(
      output: Digest,
      destinations: readonly Destination[],
      options: Pick<UnpackOptions, 'user' | 'time'> & Waiting,
    ): Promise<Fetched> {
      const record = await records.find(output)
      if (!record?.isPushed) throw new RegistryRefused(`The registry has no image of the output ${output}.`, 404)
      const manifest = await client.pullManifest(record.repository, record.manifest, options)
      if (!manifest) throw new RegistryRefused(`${toReference(record)} is not in the registry any more.`, 404)
      const layers = layersIn(manifest)
      const wanted = destinations.flatMap(({ kind, ...to }) => {
        const layer = layers.find((one) => one.kind === kind)
        return layer ? [{ ...layer, ...to }] : []
      })
      await refuseTooLarge(wanted)
      return inScratch(async (scratch) => {
        let bytes = 0
        for (const { kind, digest, size, ...to } of wanted) {
          const file = join(scratch, kind)
          await client.pullBlob(record.repository, { digest, size, file }, options)
          await unpackLayer(file, to.folder, { ...options, at: to.at, limits })
          await removeTree(file)
          bytes += size
        }
        return { bytes }
      })
    },

    /** Deletes images whose outputs are not needed any more, and returns how many. */
    async collect(isNeeded: (output: Digest) => Promise<boolean>): Promise<number> {
      await records.forgetOldLayers()
      let count = 0
      for (const record of await records.all()) {
        if (await isNeeded(record.output)) continue
        await inTurn(record.manifest, async () => {
          // An output may have been made again since.
          if (await isNeeded(record.output)) return
          const isLast = await records.forget(record)
          count += 1
          if (!isLast) return
          await client.deleteManifest(record.repository, record.manifest, COLLECTING).catch(async (error) => {
            // The next collection tries again.
            await records.announce(record)
            throw error
          })
        })
      }
      return count
    },

    /** Removes what a dead process left. Only for the start of the service. */
    sweep: (): Promise<void> => removeTree(folder),

    close: () => client.close(),
  }

  /** Undefined where the image was deleted, here or in the registry. */
  async function stillThere(output: Digest, waiting: Waiting): Promise<ImageRecord | undefined> {
    const record = await records.find(output)
    const isThere = record?.isPushed && (await client.hasManifest(record.repository, record.manifest, waiting))
    return isThere ? record : undefined
  }

  async function refuseTooLarge(layers: readonly { size: number; bytes: number }[]) {
    const total = layers.reduce((sum, { size, bytes }) => sum + size + bytes, 0)
    if (layers.some(({ size, bytes }) => size > limits.bytes || bytes > 2 * limits.bytes))
      throw new LayerBroken('it is larger than allowed')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const { bavail, bsize } = await statfs(folder)
    if (total > bavail * bsize) throw Object.assign(new Error('no space left for an image'), { code: 'ENOSPC' })
  }
}

export type Images = ReturnType<typeof createImages>
