/**
 * Lines of an app's log that report events of its process. The service writes them, and no app can: their stream is
 * `service`. The event is recorded as the phase, so that a program finds it without reading the text.
 */
import { shortId } from './short-id.ts'

/**
 * START: a process was started. LIVE: visitors get this deployment. ENDED: the process died or did not answer. ASLEEP:
 * stopped or frozen until the next visitor.
 */
export const LOG_MARKS = ['START', 'LIVE', 'ENDED', 'ASLEEP'] as const
export type LogMark = (typeof LOG_MARKS)[number]

/** The short ids are present if the text names them. */
export type Marked = { mark: LogMark; deployment?: string; build?: string }

export const startText = (deployment: string, build: string): string => `${named(deployment)} starts: ${made(build)}.`
export const liveText = (deployment: string, build: string): string => `${named(deployment)} is live: ${made(build)}.`

const named = (deployment: string): string => `Deployment ${shortId(deployment)}`
const made = (build: string): string => `build ${shortId(build)}`

const TEXT = /^Deployment ([0-9a-f]{8}) (?:starts|is live): build ([0-9a-f]{8})\.$/

/** The event of a line; undefined for a line of the app, or for another line of the service. */
export function markIn({ stream, phase, text }: { stream: string; phase: string; text: string }): Marked | undefined {
  const mark = stream === 'service' ? LOG_MARKS.find((one) => one === phase) : undefined
  if (mark === undefined) return undefined
  const [, deployment, build] = TEXT.exec(text) ?? []
  if (deployment && build) return { mark, deployment, build }
  // A start always names its deployment; a line without one reports something else.
  return mark === 'START' || mark === 'LIVE' ? undefined : { mark }
}
