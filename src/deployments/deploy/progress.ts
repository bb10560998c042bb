/** The progress of one deployment: its phase, the time spent in each, and its log. */
import type { Clock } from '../../base/index.ts'
import { type Build, type Builds, secondsInWords } from '../../builds/index.ts'
import type { resources } from '../../contract/index.ts'
import type { Work } from '../../operations/index.ts'
import type { LineLog } from '../../storage/index.ts'

type Parts = { clock: Clock; builds: Builds; log: LineLog; work: Work }

export function createProgress(build: Build, { clock, builds, log, work }: Parts) {
  const spent: Build['durations'] = {}
  let phase: resources.Phase = 'QUEUED'
  let since = clock.now()
  let firstLine = 0
  let failed = ''

  const leave = () => {
    if (phase !== 'QUEUED') spent[phase] = (spent[phase] ?? 0) + clock.now() - since
    since = clock.now()
  }
  return {
    log,
    signal: work.signal,
    say: (text: string) => log.say(phase, text),
    /** Logs why an attempt failed. A second attempt that failed for the same reason does not repeat it. */
    fail(message: string) {
      log.say(phase, message === failed ? 'Without caches it failed in the same way.' : message)
      failed = message
    },
    async enter(next: resources.Phase) {
      leave()
      phase = next
      firstLine = log.lastNumber() + 1
      await work.enter(next)
      await builds.enter(build.id, next, spent)
    },
    durations() {
      leave()
      return spent
    },
    /** How long each phase took, in words. */
    timesInWords(): string {
      leave()
      return Object.entries(spent)
        .map(([name, ms]) => `${name.toLowerCase()} ${secondsInWords(ms)}`)
        .join(', ')
    },
    /** The line of the current phase that shows why it failed; 0 if it wrote none. */
    provingLine: () => log.provingLine(firstLine),
  }
}

export type Progress = ReturnType<typeof createProgress>
