/**
 * The disk layer below the in-memory cache: a log of objects and notes in segments, and separate files for large
 * objects. It survives a restart of the process, but not a reboot of the machine, and its size is bounded. It never
 * restores an object that a note has removed.
 */
export { openDisk } from './disk.ts'
export type { Disk, DiskOptions, LargeWriter, Place } from './types.ts'
