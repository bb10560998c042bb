/** Gets layers of an image by its digest and writes them into new folders. Every byte is verified before it is unpacked. */
import { randomUUID } from 'node:crypto'
import { mkdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { removeTree } from '../base/index.ts'
import type { Digest } from '../storage/index.ts'
import { LayerBroken } from './layers/entry.ts'
import { type LayerLimits, type UnpackOptions, unpackLayer } from './layers/unpack.ts'
import { layersIn } from './manifest.ts'
import { referenceOf } from './names.ts'
import { PLACES } from './publish.ts'
import type { Waiting } from './registry/answers.ts'
import type { RegistryClient } from './registry/client.ts'
import { RegistryRefused } from './registry/problem.ts'

type Parts = {
  client: RegistryClient
  /** For layers that are being written or read. */
  folder: string
  limits: LayerLimits
}

/** Where an image is in the registry. */
export type ImagePlace = { repository: string; manifest: Digest }

/** Where a layer goes: the folder is made. A layer that the image does not have is skipped. */
export type Destination = { kind: keyof typeof PLACES; folder: string }

export type Fetched = { bytes: number }

export type PullOptions = Pick<UnpackOptions, 'user' | 'time'> & Waiting

export function createPull({ client, folder, limits }: Parts) {
  const host = new URL(client.origin).host

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

  async function pullManifest({ repository, manifest: digest }: ImagePlace, waiting: Waiting): Promise<Buffer> {
    const manifest = await client.pullManifest(repository, digest, waiting)
    if (manifest) return manifest
    throw new RegistryRefused(`${referenceOf(host, repository, digest)} is not in the registry any more.`, 404)
  }

  async function pullLayers(
    { repository }: ImagePlace,
    manifest: Buffer,
    destinations: readonly Destination[],
    options: PullOptions,
  ): Promise<Fetched> {
    const layers = layersIn(manifest)
    const wanted = destinations.flatMap(({ kind, folder: to }) => {
      const layer = layers.find((one) => one.kind === kind)
      return layer ? [{ ...layer, kind, to }] : []
    })
    await refuseTooLarge(wanted)
    return inScratch(async (scratch) => {
      let bytes = 0
      for (const { kind, digest, size, to } of wanted) {
        const file = join(scratch, kind)
        await client.pullBlob(repository, { digest, size, file }, options)
        await unpackLayer(file, to, { ...options, at: PLACES[kind], limits })
        await removeTree(file)
        bytes += size
      }
      return { bytes }
    })
  }

  async function refuseTooLarge(layers: readonly { size: number; bytes: number }[]) {
    const total = layers.reduce((sum, { size, bytes }) => sum + size + bytes, 0)
    if (layers.some(({ size, bytes }) => size > limits.bytes || bytes > 2 * limits.bytes))
      throw new LayerBroken('it is larger than allowed')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const { bavail, bsize } = await statfs(folder)
    if (total > bavail * bsize) throw Object.assign(new Error('no space left for an image'), { code: 'ENOSPC' })
  }

  return { inScratch, pullManifest, pullLayers }
}
