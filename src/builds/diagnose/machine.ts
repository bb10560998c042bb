/** Out of memory or out of disk space: seen in the log or in the exit of the program, whatever else the log contains. */
import { EVERY_PHASE, type Evidence, type Finding, type Rule, search, span } from './rule.ts'

const SAYS_OUT_OF_MEMORY = [
  /JavaScript heap out of memory/,
  /ERR_WORKER_OUT_OF_MEMORY/,
  /Array buffer allocation failed/,
  /fatal error: runtime: (?:out of memory|cannot allocate memory)/,
  /memory allocation of \d{1,20} bytes failed/,
  /std::bad_alloc/,
  /\bENOMEM\b/,
  /worker exited with code: null and signal: SIGKILL/,
  /was terminated by signal SIGKILL/,
]
/** A shell writes this when a program was killed; only the last lines count, since earlier kills may be intended. */
const SAYS_KILLED = /^(?:Killed|.{0,200}: line \d{1,6}: .{0,200}Killed\b)/
const LAST_LINES = 40
const SIGKILL_CODE = 137

export const outOfMemory: Rule = {
  phases: EVERY_PHASE,
  find(evidence) {
    const { lines, exit, oomKilled } = evidence
    const hits = search(lines, ...SAYS_OUT_OF_MEMORY)
    if (hits.length > 0) {
      const isHeap = hits.some(({ match }) => match[0].includes('heap'))
      return outOfMemoryFinding(
        evidence,
        isHeap ? 'The heap of Node.js was full.' : 'There was no memory left.',
        span(hits),
      )
    }
    const isKilled = exit.signal === 'SIGKILL' || exit.code === SIGKILL_CODE
    const killed = search(lines, SAYS_KILLED).filter(({ index }) => index >= lines.length - LAST_LINES)
    if (oomKilled)
      return outOfMemoryFinding(evidence, 'A process was ended because it used all its memory.', span(killed))
    // The cgroup would have reported it.
    if (oomKilled === false || (!isKilled && killed.length === 0)) return undefined
    return outOfMemoryFinding(
      evidence,
      'A process was killed, most likely because it used all its memory.',
      span(killed),
    )
  },
}

function outOfMemoryFinding({ phase }: Evidence, what: string, place: { at: number; lastAt: number }): Finding {
  const todo =
    phase === 'STARTING'
      ? 'Let the app load less when it starts, or ask the operator for more memory.'
      : 'Build with less at once (fewer pages or workers, no source maps), or ask the operator for more memory.'
  return { reason: 'OUT_OF_MEMORY', message: `${what} ${todo}`, ...place }
}

/** Linux also reports ENOSPC when a program watches too many files: that is no full disk. */
const WATCHERS = /file watchers|inotify/
const SAYS_DISK_FULL = [/\bENOSPC\b/, /[Nn]o space left on device/, /\bEDQUOT\b/, /[Dd]isk quota exceeded/]

export const diskFull: Rule = {
  phases: EVERY_PHASE,
  find({ lines }) {
    const hits = search(lines, ...SAYS_DISK_FULL).filter(({ match }) => !WATCHERS.test(match.input))
    if (hits.length === 0) return undefined
    return {
      reason: 'DISK_FULL',
      message:
        'The disk was full. The operator can free space or raise the limit; a smaller app or a Clean Rebuild may fit.',
      ...span(hits),
    }
  },
}
