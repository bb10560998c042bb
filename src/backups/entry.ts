/** What a backup holds: entries, each with a line in the list at its end, and the words for what is wrong with one. */
import { printableLine } from '../base/index.ts'
import { Refused } from '../contract/index.ts'

export type BackupEntry = {
  /** Below the data folder, with `/` between names. */
  path: string
  /** A whiteout is how an overlay says that what lies in a layer below is not there any more. */
  kind: 'file' | 'folder' | 'symlink' | 'hardlink' | 'whiteout'
  /** Of reading, writing and running: nothing in a data folder has need of more. */
  mode: number
  uid: number
  gid: number
  /** Seconds since 1970, of the last change. */
  time: number
  /** Bytes that follow: those of a file, and nothing else has any. */
  size: number
  /** Where a link leads: to another path of the backup, or, for a symlink, wherever the app liked. */
  to?: string
  /** The overlay's mark on a folder that hides what lies below it, as one of its two kinds of attributes. */
  opaque?: Opaque
}

export type Opaque = 'trusted' | 'user'

/** The first entry says what this is, one at the end lists all the others, and the last one proves who made the list. */
export const HEAD = 'headland-backup.json'
export const LIST = 'list.jsonl'
export const TAG = 'list.hmac'

/** In the first one, lists had no tag. */
export const FORMAT = 2
export const FORMAT_WITHOUT_TAG = 1

/** Backups came with this migration: an older database was never in one. */
export const MIN_SCHEMA = 11

/** More than a data folder has, and so many that their names fit into memory. */
export const MAX = { entries: 10_000_000, nameBytes: 512 * 1024 * 1024 }

export type Head = {
  format: number
  /** The Headland that made it. */
  headland: string
  /** The shape of the database, as the number of its last migration. */
  schema: number
  /** Names the master key that secrets are sealed with; null where there are none. */
  keyId: string | null
  /** Whether the key itself is inside. */
  hasKey: boolean
  createTime: string
}

/** The list and its tag are in no list, so all that is said of them follows from the rest. */
export const atEnd = (path: typeof LIST | typeof TAG, size: number, { createTime }: Head): BackupEntry => ({
  path,
  kind: 'file',
  mode: 0o600,
  uid: 0,
  gid: 0,
  time: Math.floor(Date.parse(createTime) / 1000),
  size,
})

/** One line of the list. Who reads the backup writes the same line from what was read. */
export const lineOf = (
  { path, kind, mode, uid, gid, time, size, to, opaque }: BackupEntry,
  sha256: string | undefined,
) => `${JSON.stringify({ path, kind, mode: mode.toString(8), uid, gid, time, size, sha256, to, opaque })}\n`

/** The caller can do something about it: another file, the right key, an empty folder. */
export class BackupRefused extends Refused {
  constructor(message: string, options?: ErrorOptions) {
    // It may quote a file that is not trusted, and is printed on a terminal.
    super(printableLine(message), options)
    this.name = 'BackupRefused'
  }
}

export const broken = (how: string, options?: ErrorOptions): BackupRefused =>
  new BackupRefused(`The backup is broken: ${how}. Nothing was restored from it.`, options)
