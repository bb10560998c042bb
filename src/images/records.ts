/** Which outputs are in the registry, and the digests of layers that several images share. */
import type { Clock } from '../base/index.ts'
import { checkDigest, type Digest, list, type Sql, statement } from '../storage/index.ts'
import type { PackedLayer } from './layers/pack.ts'
import { checkRepository } from './names.ts'

export type ImageRecord = {
  output: Digest
  repository: string
  manifest: Digest
  /** Of all its layers as they are stored. */
  bytes: number
  isPushed: boolean
}

/** A layer, and the repository that got it last. */
export type KnownLayer = { repository: string; layer: PackedLayer }

type ImageRow = {
  output_digest: Digest
  repository: string
  manifest_digest: Digest
  bytes: number
  push_time: number | null
}

/** A layer that was not used for so long is not looked for: its packages or its Node are gone. */
const LAYER_DAYS = 60
const DAY_MS = 24 * 60 * 60_000

export function createImageRecords({ sql, clock }: { sql: Sql; clock: Clock }) {
  const columns = statement`output_digest, repository, manifest_digest, bytes, push_time`

  return {
    async find(output: Digest): Promise<ImageRecord | undefined> {
      const [row] = await sql.query<ImageRow>(statement`SELECT ${columns} FROM images WHERE output_digest = ${output}`)
      return row && toRecord(row)
    },

    async all(): Promise<ImageRecord[]> {
      return (await sql.query<ImageRow>(statement`SELECT ${columns} FROM images ORDER BY output_digest`)).map(toRecord)
    },

    /** Those of the outputs that are in the registry. */
    async pushed(outputs: readonly Digest[]): Promise<ImageRecord[]> {
      if (outputs.length === 0) return []
      const rows = await sql.query<ImageRow>(statement`
        SELECT ${columns} FROM images WHERE push_time IS NOT NULL AND output_digest IN (${list(outputs)})`)
      return rows.map(toRecord)
    },

    /** Before the manifest is pushed. */
    async announce({ output, repository, manifest, bytes }: Omit<ImageRecord, 'isPushed'>) {
      await sql.transaction((tx) =>
        tx.query(statement`
          INSERT INTO images (output_digest, repository, manifest_digest, bytes, create_time)
          VALUES (${output}, ${repository}, ${manifest}, ${bytes}, ${clock.now()})
          ON CONFLICT (output_digest) DO UPDATE SET repository = ${repository}, manifest_digest = ${manifest},
            bytes = ${bytes}, push_time = NULL`),
      )
    },
    async pushedNow(output: Digest) {
      await sql.transaction((tx) =>
        tx.query(statement`UPDATE images SET push_time = ${clock.now()} WHERE output_digest = ${output}`),
      )
    },

    /** Whether another output has the same manifest. */
    async isShared({ output, repository, manifest }: ImageRecord): Promise<boolean> {
      const [other] = await sql.query(statement`
        SELECT output_digest FROM images
        WHERE manifest_digest = ${manifest} AND repository = ${repository} AND output_digest <> ${output} LIMIT 1`)
      return other !== undefined
    },
    async forget(output: Digest) {
      await sql.transaction((tx) => tx.query(statement`DELETE FROM images WHERE output_digest = ${output}`))
    },

    async layer(name: string): Promise<KnownLayer | undefined> {
      const [row] = await sql.transaction((tx) =>
        tx.query<{ repository: string; digest: Digest; diff_id: Digest; size: number; bytes: number }>(statement`
          UPDATE image_layers SET use_time = ${clock.now()} WHERE name = ${name}
          RETURNING repository, digest, diff_id, size, bytes`),
      )
      if (!row) return undefined
      const { repository, digest, diff_id: diffId, size, bytes } = row
      checkDigest(digest)
      checkDigest(diffId)
      return { repository: checkRepository(repository), layer: { digest, diffId, size, bytes } }
    },
    async keepLayer(name: string, { repository, layer }: KnownLayer) {
      const { digest, diffId, size, bytes } = layer
      await sql.transaction((tx) =>
        tx.query(statement`
          INSERT INTO image_layers (name, repository, digest, diff_id, size, bytes, use_time)
          VALUES (${name}, ${repository}, ${digest}, ${diffId}, ${size}, ${bytes}, ${clock.now()})
          ON CONFLICT (name) DO UPDATE SET repository = ${repository}, digest = ${digest}, diff_id = ${diffId},
            size = ${size}, bytes = ${bytes}, use_time = ${clock.now()}`),
      )
    },
    async forgetOldLayers() {
      await sql.transaction((tx) =>
        tx.query(statement`DELETE FROM image_layers WHERE use_time < ${clock.now() - LAYER_DAYS * DAY_MS}`),
      )
    },
  }
}

export type ImageRecords = ReturnType<typeof createImageRecords>

function toRecord(row: ImageRow): ImageRecord {
  checkDigest(row.manifest_digest)
  return {
    output: row.output_digest,
    repository: checkRepository(row.repository),
    manifest: row.manifest_digest,
    bytes: row.bytes,
    isPushed: row.push_time !== null,
  }
}
