/** What is told of a deploy while it happens, and how it ended. */
import { durationsInWords } from '../../base/index.ts'
import type { resources } from '../../contract/index.ts'
import type { SourceArchive } from '../archive/pack.ts'
import type { LogLine } from './log-lines.ts'
import { oneLine } from './rows.ts'

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
  archive(archive: SourceArchive): void
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

/** Where that time went: waiting, each phase, and what lies between them. The parts that are shown add up to the total. */
export function timesInWords(build: resources.Build): { parts: string[]; total: string } {
  const [total, phases] = [totalSeconds(build), Object.entries(build.durations) as [string, number][]]
  const waited = build.startTime === undefined ? 0 : (Date.parse(build.startTime) - Date.parse(build.createTime)) / 1000
  const known = [['waiting', Math.max(0, waited)] as const, ...phases]
  const sum = known.reduce((seconds, [, each]) => seconds + each, 0)
  const all = [...known, ['other', Math.max(0, total - sum)] as const]
  const shown = durationsInWords(
    all.map(([, seconds]) => seconds),
    Math.max(total, sum),
  )
  const named = all.map(([name], at) => ({ name: name.toLowerCase(), words: shown.parts[at] ?? '' }))
  // A phase is told even if it took no time; waiting and the rest only where there was some.
  const told = named.filter(({ name, words }) => !/^(?:waiting|other)$/.test(name) || !/^0(?:\.0)? s$/.test(words))
  return { parts: told.map(({ name, words }) => `${oneLine(name)} ${words}`), total: shown.total }
}

/** What a build says that should not stay as it is. A service of an earlier version has none. */
export const warningsIn = ({ warnings = [] }: Partial<resources.Build>): string[] => warnings
