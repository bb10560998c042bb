/** The configuration and the manifest of an image: written here, and read from a registry as untrusted JSON. */
import { checkDigest, type Digest } from '../storage/index.ts'
import { APP_USER, LAYER_TIME, LayerBroken } from './layers/entry.ts'
import type { PackedLayer } from './layers/pack.ts'
import { jsonOf } from './registry/authorize.ts'
import { MANIFEST_TYPE } from './registry/manifests.ts'

const CONFIG_TYPE = 'application/vnd.oci.image.config.v1+json'
const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar+gzip'

/** What a layer has: the runtime, the uploaded files, installed packages, what the build made, a copy of what of that is written to, and rules for the edge. */
export const LAYER_KINDS = ['base', 'source', 'packages', 'files', 'initial', 'rules'] as const
export type LayerKind = (typeof LAYER_KINDS)[number]

export type Layer = PackedLayer & { kind: LayerKind }

export type ImageConfig = {
  title: string
  /** Without secrets: anyone who may read the image reads them. */
  environment: Readonly<Record<string, string>>
  workingDirectory: string
  command: readonly string[]
  port: number
}

const KIND_KEY = 'headland.layer'
const BYTES_KEY = 'headland.bytes'
/** Of a manifest that Headland reads. */
const MAX_LAYERS = 16
const MAX_CONFIG_BYTES = 1024 * 1024

export function configOf(
  { title, environment, workingDirectory, command, port }: ImageConfig,
  layers: readonly Layer[],
) {
  const created = new Date(LAYER_TIME * 1000).toISOString()
  return jsonBytes({
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    os: 'linux',
    created,
    config: {
      User: `${APP_USER}:${APP_USER}`,
      ExposedPorts: { [`${port}/tcp`]: {} },
      Env: Object.entries(environment)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => `${name}=${value}`),
      Cmd: command,
      WorkingDir: workingDirectory,
      Labels: {
        'org.opencontainers.image.title': title,
        'org.opencontainers.image.description': 'The output of a build, with what it runs on.',
        'org.opencontainers.image.vendor': 'Headland',
      },
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ kind }) => ({ created, created_by: `headland: ${kind}` })),
  })
}

const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' }

export function manifestOf(config: { digest: Digest; size: number }, layers: readonly Layer[]): Buffer {
  return jsonBytes({
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: { mediaType: CONFIG_TYPE, digest: config.digest, size: config.size },
    layers: layers.map(({ kind, digest, size, bytes }) => ({
      mediaType: LAYER_TYPE,
      digest,
      size,
      annotations: { [KIND_KEY]: kind, [BYTES_KEY]: String(bytes) },
    })),
  })
}

const jsonBytes = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`)

export type ManifestLayer = {
  kind: LayerKind
  digest: Digest
  size: number
  /** Of its tar, as the manifest says. */
  bytes: number
}

/** The layers of a manifest that Headland wrote; anything else is refused. */
export function layersIn(manifest: Buffer): ManifestLayer[] {
  const { schemaVersion, layers } = jsonOf(manifest)
  if (schemaVersion !== 2 || !Array.isArray(layers) || layers.length > MAX_LAYERS) throw notOurs()
  return layers.map((layer: unknown) => {
    const { mediaType, digest, size, annotations } = fieldsOf(layer)
    const { [KIND_KEY]: kind, [BYTES_KEY]: bytes } = fieldsOf(annotations)
    const isOurs =
      mediaType === LAYER_TYPE && isSize(size) && LAYER_KINDS.includes(kind as LayerKind) && isSize(Number(bytes))
    if (!isOurs || typeof digest !== 'string') throw notOurs()
    checkDigest(digest)
    return { kind: kind as LayerKind, digest, size: size as number, bytes: Number(bytes) }
  })
}

/** The configuration that a manifest names. */
export function configIn(manifest: Buffer): { digest: Digest; size: number } {
  const { digest, size } = fieldsOf(jsonOf(manifest).config)
  if (typeof digest !== 'string' || !isSize(size) || (size as number) > MAX_CONFIG_BYTES) throw notOurs()
  checkDigest(digest)
  return { digest, size: size as number }
}

/** The command of an image, by its configuration. */
export function commandIn(config: Buffer): string[] {
  const { Cmd: command } = fieldsOf(jsonOf(config).config)
  if (!Array.isArray(command) || command.some((one) => typeof one !== 'string')) throw notOurs()
  return command
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const isSize = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

const notOurs = (): LayerBroken => new LayerBroken('its manifest is not one of Headland')
