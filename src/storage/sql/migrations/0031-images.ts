/** Outputs as images in a registry, and the layers that several images share. */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const images: Migration = {
  id: 31,
  name: 'images',
  isForBoth: true,
  statements: [
    // A row is there before its manifest is in the registry, so that the garbage collector knows every manifest.
    sql`CREATE TABLE images (
      output_digest TEXT NOT NULL PRIMARY KEY,
      repository TEXT NOT NULL,
      manifest_digest TEXT NOT NULL,
      bytes BIGINT NOT NULL,
      create_time BIGINT NOT NULL,
      push_time BIGINT
    )`,
    sql`CREATE INDEX images_by_manifest ON images (manifest_digest)`,
    sql`CREATE TABLE image_layers (
      name TEXT NOT NULL PRIMARY KEY,
      repository TEXT NOT NULL,
      digest TEXT NOT NULL,
      diff_id TEXT NOT NULL,
      size BIGINT NOT NULL,
      bytes BIGINT NOT NULL,
      use_time BIGINT NOT NULL
    )`,
  ],
}
