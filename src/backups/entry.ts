/** The entries of a backup, each with a line in the list at its end, and the errors about them. */
import { printableLine } from '../base/index.ts'
import { Refused } from '../contract/index.ts'
import type { TarEntry } from '../tar/index.ts'

/**
 * Paths are below the data folder; a link leads to another path of the backup or, for a symlink of an app, anywhere. Modes are
 * permission bits: nothing in a data folder needs more.
 */
export type BackupEntry = TarEntry

/**
 * The first entry describes the backup, one at the end lists all the others, and the last one authenticates the list.
 */
export const HEAD = 'headland-backup.json'
export const LIST = 'list.jsonl'
export const TAG = 'list.hmac'

/** In the first format, lists had no tag. */
export const FORMAT = 2
export const FORMAT_WITHOUT_TAG = 1

/** Backups were introduced with this migration: an older database was never in one. */
export const MIN_SCHEMA = 11

/** More than a data folder has, and few enough that their names fit into memory. */
export const MAX = { entries: 10_000_000, nameBytes: 512 * 1024 * 1024 }

export type Head = {
  format: number
  /** The version of Headland that made it. */
  headland: string
  /** The number of the database's last migration. */
  schema: number
  /** The id of the master key that secrets are sealed with; null if there are none. */
  keyId: string | null
  /** Whether the key itself is inside. */
  hasKey: boolean
  createTime: string
}

/** The list and its tag are not in the list, so all their fields are derived. */
export const atEnd = (path: typeof LIST | typeof TAG, size: number, { createTime }: Head): BackupEntry => ({
  path,
  kind: 'file',
  mode: 0o600,
  uid: 0,
  gid: 0,
  time: Math.floor(Date.parse(createTime) / 1000),
  size,
})

/** One line of the list. A reader of the backup computes the same line from what it read. */
export const lineOf = (
  { path, kind, mode, uid, gid, time, size, to, opaque }: BackupEntry,
  sha256: string | undefined,
) => `${JSON.stringify({ path, kind, mode: mode.toString(8), uid, gid, time, size, sha256, to, opaque })}\n`

/** An error that the user can resolve: with another file, the right key, an empty folder. */
export class BackupRefused extends Refused {
  constructor(message: string, options?: ErrorOptions) {
    // It may quote an untrusted file, and is printed on a terminal.
    super(printableLine(message), options)
    this.name = 'BackupRefused'
  }
}

export const broken = (how: string, options?: ErrorOptions): BackupRefused =>
  new BackupRefused(`The backup is broken: ${how}. Nothing was restored from it.`, options)
