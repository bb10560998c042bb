/** Makes the image of an output and pushes what the registry does not have of it. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Digest } from '../storage/index.ts'
import { type Base, baseOf, SERVE, type Tool } from './base.ts'
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

/** Layers of an image that are pushed before the rest of it is known. */
export type Preparation = Pick<Publication, 'account' | 'app'> & Partial<Pick<Publication, 'base' | 'folders'>>

export type Prepared = {
  /** What the image has for its `base`. */
  base?: Base | undefined
  sent: readonly Digest[]
  leftOut: string[]
}

/**
 * What is in the folders that the app may write, a second time: where the root is read-only, these are folders in memory, which
 * begin empty, and the app gets a copy at its start.
 */
export const INITIAL = 'headland/initial'

/** Where the folders of layers are in an image. */
export const PLACES: Record<Exclude<LayerKind, 'base'>, string> = {
  source: 'app',
  packages: 'app',
  files: 'app',
  initial: INITIAL,
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
type Options = Waiting & { scratch: string }

export function createMakeImage({ client, records, prefix, inTurn, toReference }: Parts) {
  type LayerSource = { kind: LayerKind; name?: string | undefined; contents(): AsyncIterable<Content> }
  type Placed = { layer: Layer; isSent: boolean }
  type Making = Options & { repository: string }

  async function place(source: LayerSource, { repository, scratch, ...waiting }: Making): Promise<Placed> {
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

  /** Waits for all of them, so that none goes on in a folder that is removed. */
  async function placeAll(sources: readonly LayerSource[], making: Making): Promise<Placed[]> {
    const placings = await Promise.allSettled(sources.map((source) => place(source, making)))
    return placings.map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
  }

  const sourcesIn = (folders: readonly LayerFolder[], leftOut: string[]): LayerSource[] =>
    folders.map(({ kind, folder: top, name, writable = [] }): LayerSource => {
      const isInitial = kind === 'initial'
      const owned = isInitial ? { only: writable } : { writable }
      const options = { at: PLACES[kind], ...owned, isOverlay: !isInitial && kind !== 'source' }
      return { kind, name, contents: () => contentsOf(top, { ...options, onLeftOut: (path) => leftOut.push(path) }) }
    })

  async function prepare({ account, app, base, folders = [] }: Preparation, options: Options): Promise<Prepared> {
    const leftOut: string[] = []
    const found = base && (await baseOf(base.node, base.tools))
    const sources = [...(found ? [{ kind: 'base' as const, ...found }] : []), ...sourcesIn(folders, leftOut)]
    const placed = await placeAll(sources, { ...options, repository: repositoryOf(prefix, account, app) })
    const sent = placed.filter(({ isSent }) => isSent).map(({ layer }) => layer.digest)
    return { base: found, sent, leftOut }
  }

  async function make(publication: Publication, prepared: readonly Prepared[], options: Options): Promise<Published> {
    const { output, account, app, rules } = publication
    const { scratch, ...waiting } = options
    const repository = repositoryOf(prefix, account, app)
    const leftOut = prepared.flatMap((one) => one.leftOut)
    const base = prepared.find((one) => one.base)?.base ?? (await baseOf(publication.base.node, publication.base.tools))
    const last: LayerSource[] = rules === undefined ? [] : [{ kind: 'rules', contents: () => contentsOfRules(rules) }]
    const sources = [{ kind: 'base' as const, ...base }, ...sourcesIn(publication.folders, leftOut), ...last]
    const placed = await placeAll(sources, { ...options, repository })
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
    const before = new Set(prepared.flatMap((one) => one.sent))
    const sent = placed.filter(({ isSent, layer }) => isSent || before.has(layer.digest))
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

  return { prepare, make }
}

async function* contentsOfRules(rules: string): AsyncGenerator<Content> {
  yield* foldersAbove(PLACES.rules)
  yield textEntry(`${PLACES.rules}/${RULES_FILE}`, rules)
}

const SERVED = ['node', SERVE, '/app']
const SINGLE_PAGE = '--single-page'
const BASE = '--base='

function commandOf({ config: { command } }: Publication): readonly string[] {
  if (!('singlePage' in command)) return command
  const { singlePage, basePath } = command
  return [...SERVED, ...(singlePage ? [SINGLE_PAGE] : []), ...(basePath === '' ? [] : [`${BASE}${basePath}`])]
}

/** How the files of a static site are served, by the command of its image; undefined for that of an app. */
export function servedFilesOf(command: readonly string[]): ServedFiles | undefined {
  if (SERVED.some((word, at) => command[at] !== word)) return undefined
  const options = command.slice(SERVED.length)
  const basePath = options.find((option) => option.startsWith(BASE))?.slice(BASE.length) ?? ''
  return { singlePage: options.includes(SINGLE_PAGE), basePath }
}
