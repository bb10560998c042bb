/** The facts from which a trace explains why an address shows what it shows. */
import type { Build } from '../../builds/index.ts'
import type { resources } from '../../contract/index.ts'
import type { Inspection, StoredObject } from '../../edge/index.ts'
import type { Operation } from '../../operations/index.ts'
import type { PurgeRecord } from '../purges.ts'

export type Stored = StoredObject

export type AppResponse = {
  kind: 'APP'
  status: number
  contentType: string | undefined
  cacheControl: string | undefined
  vary: string | undefined
  etag: string | undefined
  lastModified: string | undefined
  setsCookie: boolean
  /** Undefined if the body did not end in time, or is too long. */
  body: { bytes: number; digest: string | undefined } | undefined
}

/** What the live deployment itself answers, past the cache. */
export type Origin =
  | { kind: 'NOTHING' }
  | { kind: 'FILE'; status: number; file: string; bytes: number; digest: string }
  | { kind: 'REDIRECT'; status: number; location: string }
  | { kind: 'MISSING'; status: number }
  | AppResponse
  /** `why` continues a sentence that begins with "the app": "sleeps", "keeps crashing". */
  | { kind: 'SILENT'; why: string }

export type Live = {
  deployment: string
  build: Build
  /** When it last became live, and the operation that made it so if that was not its build. */
  time: number
  by: Operation | undefined
}

export type Facts = {
  now: number
  live: Live | undefined
  lastBuild: Build | undefined
  lastOperation: Operation | undefined
  /** The newest first. */
  purges: readonly PurgeRecord[]
  /** Undefined when the edge does not answer. */
  inspection: (Omit<Inspection, 'stored'> & { stored: readonly Stored[] }) | undefined
  origin: Origin
}

/**
 * Whether a stored response is what the app answers now: by the digests of the bodies, or else by the validators of the app
 * (RFC 9110, section 8.8). The comparison is weak, as the question is whether people see the same.
 */
export function compare(stored: Stored, origin: Origin): resources.Comparison {
  if (origin.kind !== 'APP') return 'UNKNOWN'
  if (stored.status !== origin.status) return 'DIFFERENT'
  if (stored.digest && origin.body?.digest) return origin.body.digest.startsWith(stored.digest) ? 'SAME' : 'DIFFERENT'
  if (stored.etag && origin.etag) return weakly(stored.etag) === weakly(origin.etag) ? 'SAME' : 'DIFFERENT'
  // Equal times prove nothing: they may be the time when the app started.
  if (stored.lastModified && origin.lastModified && stored.lastModified !== origin.lastModified) return 'DIFFERENT'
  return 'UNKNOWN'
}

const weakly = (etag: string): string => etag.replace(/^W\//, '')

/** 12 s, 3 min, 5 h, 2 days. */
export function spanInWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 100) return `${seconds} s`
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} days`
}
