/** How large an archive may be, and how slow. */
export type ArchiveLimits = {
  /** Bytes of the archive itself. */
  archiveBytes: number
  /** Entries of the archive; folders that only occur in paths may be as many again. */
  entries: number
  /** Bytes of all entries together, once unpacked. */
  unpackedBytes: number
  /** Bytes of one entry's name. */
  pathBytes: number
  /** Bytes of all names together, which bounds the work for names. */
  namesBytes: number
  /** Milliseconds without a byte after which a client is disconnected. */
  stallMs: number
}

export const DEFAULT_ARCHIVE_LIMITS: ArchiveLimits = {
  archiveBytes: 512 * 1024 * 1024,
  entries: 50_000,
  unpackedBytes: 2 * 1024 * 1024 * 1024,
  pathBytes: 1024,
  namesBytes: 8 * 1024 * 1024,
  stallMs: 30_000,
}
