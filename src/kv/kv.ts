/**
 * The key-value store: values that apps keep for themselves and for their next start, with a namespace for each environment.
 * Values that do not fit any more are removed, the least recently used first. When the quota of its account is used up, a
 * namespace does not grow: a new value replaces old ones.
 */
import { hash } from 'node:crypto'
import { LIMITS, Problem } from '../contract/index.ts'

export interface Kv {
  /** The size of the value of a key, in whole blocks; undefined if there is none. */
  bytesOf(environmentId: string, key: string): Promise<number | undefined>
  get(environmentId: string, key: string): Promise<Buffer | undefined>
  put(environmentId: string, key: string, value: Uint8Array): Promise<void>
}

export type ValueLimits = {
  /** For all values of an environment, in whole blocks of the disk: so it limits their number, too. */
  totalBytes: number
}

export const DEFAULT_KV_LIMITS: ValueLimits = { totalBytes: LIMITS.valueTotalBytes }

export type Growth = { bytes: number; files: number }

/** Counts the growth towards the quota of the account; false if it exceeds the quota. */
export type AdmitGrowth = (environmentId: string, growth: Growth) => Promise<boolean>

/** The last use of a value is noted to the minute, so that few reads have to write. */
export const NOTE_USE_AFTER_MS = 60_000

/** Keys may be longer than file names, and have any characters. */
export const nameOf = (key: string): string => hash('sha256', key, 'hex')

export const quotaExceeded = (): Problem =>
  new Problem(
    'QUOTA_EXCEEDED',
    'The account holds as much on the disk as it may, and this store has too little to give up for the value.',
  )
