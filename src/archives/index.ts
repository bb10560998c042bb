export { type Archives, createArchives } from './archives.ts'
export { type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS } from './limits.ts'
export type { Archive } from './receive.ts'
export type { Unpacked, UnpackOptions } from './unpack.ts'
