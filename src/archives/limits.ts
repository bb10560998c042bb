/** How large an archive may be, and how slow. */
export type ArchiveLimits = {
  /** Bytes of the archive itself. */
  archiveBytes: number
  /** Entries of the archive; the folders that only stand in names may be as many again. */
  entries: number
  /** Bytes of all entries together, once unpacked. */
  unpackedBytes: number
  /** Bytes of one entry's name. */
  pathBytes: number
  /** Bytes of all names together: so many long names as there may be entries would be a long work. */
  namesBytes: number
  /** Milliseconds in which a client sends nothing before it is cut off. */
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
