/** Makes the image of an output and pushes what the registry does not have of it. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Digest } from '../storage/index.ts'
import { baseOf, SERVE, type Tool } from './base.ts'
import { type Content, contentsOf, foldersAbove, textEntry } from './layers/folder.ts'
import { type PackedLayer, packLayer } from './layers/pack.ts'
import { configOf, type ImageConfig, type Layer, type LayerKind, manifestOf } from './manifest.ts'
import { repositoryOf, tagOf } from './names.ts'
import type { ImageRecord, ImageRecords, KnownLayer } from './records.ts'
import { digestOf, type Waiting } from './registry/answers.ts'
import type { RegistryClient } from './registry/client.ts'

/** A folder of this machine, and what it is in the image. */
export type LayerFolder = {
  kind: Exclude<LayerKind, 'base' | 'rules'>
  folder: string
  /** The same name means the same bytes: such a layer is not packed again. */
  name?: string
  /** Folders in it that the app may write. */
  writable?: readonly string[]
}

export type Publication = {
  output: Digest
  account: string
  app: string
  /** The program that runs the app, and the tools beside it. */
  base: { node: string; tools: readonly Tool[] }
  /** The lowest first. */
  folders: readonly LayerFolder[]
  /** Redirects and headers of a static site, as JSON. The image has them for Headland, and does not apply them itself. */
  rules?: string | undefined
  /** Without a command, the files are served as they are. */
  config: Omit<ImageConfig, 'command'> & { command: readonly string[] | ServedFiles }
}

export type ServedFiles = { singlePage: boolean; basePath: string }

export type Published = {
  reference: string
  /** Whether all of it was in the registry before. */
  isKnown: boolean
  layers: number
  bytes: number
  /** What was sent of it. */
  sentLayers: number
  sentBytes: number
  /** Names that no image can hold. */
  leftOut: string[]
}

/** Where the folders of layers are in an image. */
export const PLACES: Record<Exclude<LayerKind, 'base'>, string> = {
  source: 'app',
  packages: 'app',
  files: 'app',
  rules: 'headland/rules',
}

/** The file of rules in its layer. */
export const RULES_FILE = 'rules.json'

type Parts = {
  client: RegistryClient
  records: ImageRecords
  /** Above the accounts' repositories; may be empty. */
  prefix: string
  inTurn<T>(manifest: Digest, work: () => Promise<T>): Promise<T>
  toReference(record: Pick<ImageRecord, 'repository' | 'manifest'>): string
}

/** `scratch` is a folder for the layers that are packed. */
export type MakeImage = (publication: Publication, scratch: string, waiting: Waiting) => Promise<Published>

export function createMakeImage({ client, records, prefix, inTurn, toReference }: Parts): MakeImage {
  type LayerSource = { kind: LayerKind; name?: string | undefined; contents(): AsyncIterable<Content> }
  type Placed = { layer: Layer; isSent: boolean }
  type Making = { repository: string; scratch: string; waiting: Waiting }

  async function place(source: LayerSource, { repository, scratch, waiting }: Making): Promise<Placed> {
    const { kind, name } = source
    const known = name === undefined ? undefined : await records.layer(name)
    if (known && (await isThere(known, repository, waiting))) return { layer: { ...known.layer, kind }, isSent: false }
    const file = join(scratch, kind)
    const packed: PackedLayer = await packLayer(source.contents(), file, waiting.signal)
    const isSent = await client.pushBlob(repository, { ...packed, file }, waiting)
    if (name !== undefined) await records.keepLayer(name, { repository, layer: packed })
    return { layer: { ...packed, kind }, isSent }
  }

  /** The registry takes a layer from the repository of another app, where it can: nothing is sent again. */
  async function isThere({ layer, repository: other }: KnownLayer, repository: string, waiting: Waiting) {
    if (await client.hasBlob(repository, layer, waiting)) return true
    return other !== repository && client.mountBlob(repository, layer, other, waiting)
  }

  async function sourcesOf({ base, folders, rules }: Publication, leftOut: string[]): Promise<LayerSource[]> {
    const { node, tools } = base
    const others = folders.map(({ kind, folder: top, name, writable = [] }): LayerSource => {
      const options = { at: PLACES[kind], writable, isOverlay: kind !== 'source' }
      return { kind, name, contents: () => contentsOf(top, { ...options, onLeftOut: (path) => leftOut.push(path) }) }
    })
    const last: LayerSource[] = rules === undefined ? [] : [{ kind: 'rules', contents: () => contentsOfRules(rules) }]
    return [{ kind: 'base', ...(await baseOf(node, tools)) }, ...others, ...last]
  }

  return async function make(publication, scratch, waiting) {
    const { output, account, app } = publication
    const repository = repositoryOf(prefix, account, app)
    const leftOut: string[] = []
    const sources = await sourcesOf(publication, leftOut)
    const placings = sources.map((source) => place(source, { repository, scratch, waiting }))
    // Waits for all of them, so that none goes on in a folder that is removed.
    const placed = (await Promise.allSettled(placings)).map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
    const layers = placed.map(({ layer }) => layer)
    const config = configOf({ ...publication.config, command: commandOf(publication) }, layers)
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
    const sentBytes = sent.reduce((sum, { layer }) => sum + layer.size, 0)
    const reference = toReference({ repository, manifest })
    return {
      reference,
      isKnown: false,
      layers: layers.length,
      bytes: size,
      sentLayers: sent.length,
      sentBytes,
      leftOut,
    }
  }
}

async function* contentsOfRules(rules: string): AsyncGenerator<Content> {
  yield* foldersAbove(PLACES.rules)
  yield textEntry(`${PLACES.rules}/${RULES_FILE}`, rules)
}

function commandOf({ config: { command } }: Publication): readonly string[] {
  if (!('singlePage' in command)) return command
  const { singlePage, basePath } = command
  const options = [...(singlePage ? ['--single-page'] : []), ...(basePath === '' ? [] : [`--base=${basePath}`])]
  return ['node', SERVE, '/app', ...options]
}
