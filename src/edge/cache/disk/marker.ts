/**
 * The file that says that what lies beside it may be used. Without it the folder is worth nothing, so to remove it is to
 * forget everything at once, in one step that needs no room on the disk.
 *
 * It names the run (one opening of the folder) whose segments count, and the end of what that run had taken over. Whoever
 * opens the folder replaces it; whoever finds another run in it has been replaced.
 *
 * It also names what must be as it was: the boot of the machine, because nothing here is synced to the disk and only the
 * kernel's memory survives the process; and the identity of the folder and of the marker itself, because a copy that
 * somebody puts back knows nothing of what was purged since it was made.
 */
import {
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  type Stats,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'

/** The end of a segment, up to where it counts. */
export type End = { run: string; number: number; length: number }

type Content = { format: number; boot: string; folder: string; self: string; run: string; end?: End | undefined }

const NAME = 'valid'
const FORMAT = 1

export function createMarker({ folder, boot }: { folder: string; boot: string }) {
  const path = join(folder, NAME)

  function load(): Content | undefined {
    try {
      const content: Content | null = JSON.parse(readFileSync(path, 'utf8'))
      return content?.self === identityOf(statSync(path)) ? content : undefined
    } catch (error) {
      if (error instanceof SyntaxError || isMissing(error)) return undefined
      throw error
    }
  }

  return {
    /** What may be used; undefined: nothing. */
    read(): { run: string; end: End | undefined } | undefined {
      const content = load()
      if (content?.format !== FORMAT || content.folder !== identityOf(statSync(folder))) return undefined
      return isSameBoot(content.boot, boot) ? { run: content.run, end: content.end } : undefined
    },

    whose(run: string): 'ours' | 'nobody' | 'another' {
      const content = load()
      if (!content) return 'nobody'
      return content.run === run ? 'ours' : 'another'
    },

    write(run: string, end: End | undefined) {
      const aside = `${path}.${run}.new`
      const fd = openSync(aside, 'w', 0o600)
      try {
        const content: Content = {
          format: FORMAT,
          boot,
          folder: identityOf(statSync(folder)),
          self: identityOf(fstatSync(fd)),
          run,
          end,
        }
        writeFileSync(fd, JSON.stringify(content))
      } finally {
        closeSync(fd)
      }
      renameSync(aside, path)
    },

    /** Throws when it may still be there. */
    remove() {
      try {
        unlinkSync(path)
      } catch (error) {
        // A folder that lets nothing be removed may still let a file be emptied.
        if (!isMissing(error)) truncateSync(path)
      }
    },
  }
}

/** What stays the same until the machine starts again. */
export function currentBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Not Linux: the time of the boot, as well as it can be told.
    return `${SINCE}${Math.round(Date.now() - uptime() * 1000)}`
  }
}

const SINCE = 'since '
/** The uptime is told in seconds on some systems. A clock that is set further than this costs the cache, no more. */
const SINCE_TOLERANCE_MS = 3000

export function isSameBoot(one: string, other: string): boolean {
  if (!one.startsWith(SINCE) || !other.startsWith(SINCE)) return one === other
  return Math.abs(Number(one.slice(SINCE.length)) - Number(other.slice(SINCE.length))) <= SINCE_TOLERANCE_MS
}

/** Names of unfinished markers, left by a process that was killed. */
export const isUnfinishedMarker = (name: string): boolean => name.startsWith(`${NAME}.`) && name.endsWith('.new')

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')

/** Numbers of files are given again, so the time of birth belongs to it. Moving a file changes none of them. */
const identityOf = ({ dev, ino, birthtimeMs }: Stats): string => `${dev}:${ino}:${birthtimeMs}`
