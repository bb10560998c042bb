/**
 * The file that declares the other files of the folder valid. Without it the folder counts as empty, so removing it
 * invalidates everything at once, in one step that needs no free disk space.
 *
 * It names the run (one opening of the folder) whose segments count, and the end of what that run had taken over. A
 * process that opens the folder replaces the marker; a process that finds another run in it has been replaced.
 *
 * It also records what must be unchanged: the boot of the machine, because nothing here is synced to the disk and only
 * the page cache of the kernel survives the process; and the identity of the folder and of the marker itself, because a
 * copy that was restored from elsewhere lacks the purges since it was made.
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
import type { SegmentEnd } from './types.ts'

type Content = { format: number; boot: string; folder: string; self: string; run: string; end?: SegmentEnd | undefined }

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
    read(): { run: string; end: SegmentEnd | undefined } | undefined {
      const content = load()
      if (content?.format !== FORMAT || content.folder !== identityOf(statSync(folder))) return undefined
      return isSameBoot(content.boot, boot) ? { run: content.run, end: content.end } : undefined
    },

    /** Which run the marker names, as seen from this one. */
    ownerFor(run: string): 'ours' | 'none' | 'another' {
      const content = load()
      if (!content) return 'none'
      return content.run === run ? 'ours' : 'another'
    },

    write(run: string, end: SegmentEnd | undefined) {
      const draft = `${path}.${run}.new`
      const fd = openSync(draft, 'w', 0o600)
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
      renameSync(draft, path)
    },

    /** Throws when it may still be there. */
    remove() {
      try {
        unlinkSync(path)
      } catch (error) {
        // Where the folder's permissions forbid removing a file, the file may still be truncated.
        if (!isMissing(error)) truncateSync(path)
      }
    },
  }
}

/** The same value until the machine reboots. */
export function currentBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Not Linux: the time of the boot, as precisely as it is known.
    return `${SINCE}${Math.round(Date.now() - uptime() * 1000)}`
  }
}

const SINCE = 'since '
/**
 * Some systems give the uptime in seconds. If the clock is adjusted by more than this, the cache is lost and nothing
 * else.
 */
const SINCE_TOLERANCE_MS = 3000

export function isSameBoot(one: string, other: string): boolean {
  if (!one.startsWith(SINCE) || !other.startsWith(SINCE)) return one === other
  return Math.abs(Number(one.slice(SINCE.length)) - Number(other.slice(SINCE.length))) <= SINCE_TOLERANCE_MS
}

/** Whether it is an unfinished marker, left by a process that was killed. */
export const isUnfinishedMarker = (name: string): boolean => name.startsWith(`${NAME}.`) && name.endsWith('.new')

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')

/** Inode numbers are reused, so the time of creation is included. Moving a file changes none of them. */
const identityOf = ({ dev, ino, birthtimeMs }: Stats): string => `${dev}:${ino}:${birthtimeMs}`
