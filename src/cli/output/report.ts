/** The events of a deploy that are reported while it runs, and its result. */

import { durationsInWords } from '../../base/index.ts'
import type { Build, Environment, Operation } from '../../client/index.ts'
import type { resources } from '../../contract/index.ts'
import type { SourceArchive } from '../archive/pack.ts'
import type { LogLine } from './log-lines.ts'
import { oneLine } from './rows.ts'

export type Success = { url: string; build: Build; deployment: string }

export type Failed = {
  build: Build
  failure: NonNullable<Build['failure']>
  /** The log lines around the one that shows the error. */
  lines: LogLine[]
  /** Whether visitors get an earlier deployment. */
  isLive: boolean
}

export type Report = {
  note(text: string): void
  created(what: 'app' | 'environment', name: string): void
  /** The preview that is deployed to. */
  preview(environment: Environment): void
  /** The environment has them, even if the deploy fails. */
  variablesSet(keys: readonly string[]): void
  archive(archive: SourceArchive): void
  /** The message and the commit of the archive. */
  described(described: resources.Described): void
  uploading(sentBytes: number, totalBytes: number): void
  /** The service accepted the build, and completes it whether or not the client waits. */
  accepted(operation: Operation): void
  /** The current state of the operation, about every second. */
  state(operation: Operation): void
  line(line: LogLine): void
  connection(isThere: boolean): void
  succeeded(success: Success): void
  failed(failed: Failed): void
  /** It was built and is not live, since its output looks wrong. The message says what to do. */
  held(build: Build, held: NonNullable<Build['held']>, message: string): void
  /** It was cancelled by a user, or superseded by a newer one. */
  cancelled(build: Build, reason: string, message: string): void
  /** The command ends without waiting for the build (`--detach`). */
  detached(operation: Operation): void
  /** The user stopped waiting, and the build continues. */
  left(operation: Operation): void
  /** Nothing is drawn any more, however the command ends. */
  close(): void
}

/** From its request to its end. */
export const totalSeconds = ({ createTime, finishTime }: Build): number =>
  finishTime === undefined ? 0 : (Date.parse(finishTime) - Date.parse(createTime)) / 1000

/** Where that time went: waiting, each phase, and what lies between them. The parts that are shown add up to the total. */
export function timesInWords(build: Build): { parts: string[]; total: string } {
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
  // A phase is shown even if it took no time; waiting and the rest only where there was some.
  const listed = named.filter(({ name, words }) => !/^(?:waiting|other)$/.test(name) || !/^0(?:\.0)? s$/.test(words))
  return { parts: listed.map(({ name, words }) => `${oneLine(name)} ${words}`), total: shown.total }
}

/** Warnings of a build. A service of an earlier version has none. */
export const warningsIn = ({ warnings = [] }: Partial<Build>): string[] => warnings
