/** What is told of a deploy while it happens, and how it ended. */
import type { resources } from '../contract/index.ts'
import type { Archive } from './archive/pack.ts'
import type { LogLine } from './log-lines.ts'

export type Success = { url: string; build: resources.Build; deployment: string }

export type Failed = {
  build: resources.Build
  failure: NonNullable<resources.Build['failure']>
  /** Those around the line that shows it. */
  lines: LogLine[]
  /** Whether visitors get an earlier deployment. */
  isLive: boolean
}

export type Report = {
  note(text: string): void
  created(what: 'app' | 'environment', name: string): void
  /** The environment has them, whatever becomes of the deploy. */
  variablesSet(keys: readonly string[]): void
  archive(archive: Archive): void
  /** What is said about it. */
  described(described: resources.Described): void
  uploading(sentBytes: number, totalBytes: number): void
  /** The service took it, and will see it through. */
  accepted(operation: resources.Operation): void
  /** How the operation stands; heard about every second. */
  state(operation: resources.Operation): void
  line(line: LogLine): void
  connection(isThere: boolean): void
  succeeded(success: Success): void
  failed(failed: Failed): void
  /** It was built and is not live, since its output looks wrong. The message says what to do. */
  held(build: resources.Build, held: NonNullable<resources.Build['held']>, message: string): void
  /** Somebody wanted it to end, or a newer one took its place. */
  cancelled(build: resources.Build, reason: string, message: string): void
  /** Nobody waits for the build. */
  detached(operation: resources.Operation): void
  /** Whoever waited has left, and the build goes on. */
  left(operation: resources.Operation): void
}

/** From when it was asked for until it was over. */
export const totalSeconds = ({ createTime, finishTime }: resources.Build): number =>
  finishTime === undefined ? 0 : (Date.parse(finishTime) - Date.parse(createTime)) / 1000

/** What a build says that should not stay as it is. A service of an earlier version has none. */
export const warningsIn = ({ warnings = [] }: Partial<resources.Build>): string[] => warnings
