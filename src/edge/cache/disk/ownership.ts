/**
 * Whether the folder belongs to this process. It has no lock: an edge that is shutting down may still write while the
 * next one opens it. The newer one wins, because it replaces the marker and appends only to segments of its own run, so
 * later writes of the older one are in no chain.
 *
 *   ours       the marker names our run, or will name it when the first segment begins
 *   doubtful   everything was to be invalidated, but the marker could not be removed: that is retried until it succeeds
 *   off        another process took the folder over, or the disk was closed
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync } from 'node:fs'
import { createMarker } from './marker.ts'
import type { SegmentEnd } from './types.ts'

type Parts = { folder: string; boot: string; pauseMs: number; notify(error: unknown): void }

export function createOwnership({ folder, boot, pauseMs, notify }: Parts) {
  const marker = createMarker({ folder, boot })
  let run = newRun()
  /** The marker names our run. */
  let isMarked = false
  let isDoubtful = false
  let isOff = false
  let retry: NodeJS.Timeout | undefined

  return {
    /** What an earlier run left that may be used; undefined: nothing. */
    previous: marker.read,

    isOurs: (): boolean => !isOff && !isDoubtful,

    /** Makes the folder ours: segments up to this end count, and new ones follow them. */
    claim(end: SegmentEnd | undefined) {
      marker.write(run, end)
      isMarked = true
    },

    /**
     * The run that a new segment belongs to. `discard` is called before a new run begins, because what is on the disk
     * does not count any more. Throws when another process has taken the folder over.
     */
    currentRun(discard: () => void): string {
      const owner = isMarked ? marker.ownerFor(run) : 'none'
      if (owner === 'another') {
        isOff = true
        throw new Error(`another process has taken over ${folder}`)
      }
      if (owner === 'none') {
        // The folder was emptied from outside, or everything was invalidated.
        discard()
        isMarked = false
        run = newRun()
        makeFolder(folder)
        marker.write(run, undefined)
        isMarked = true
      }
      return run
    },

    /** False: the marker may still be there. `again` is then called after a while. */
    revoke(again: () => void): boolean {
      isMarked = false
      try {
        marker.remove()
        isDoubtful = false
      } catch (error) {
        isDoubtful = true
        retry ??= setTimeout(() => {
          retry = undefined
          if (isDoubtful) again()
        }, pauseMs).unref()
        notify(error)
      }
      return !isDoubtful
    },

    close() {
      isOff = true
      clearTimeout(retry)
    },
  }
}

export function makeFolder(folder: string) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // A folder that existed before may have been readable by other users.
  chmodSync(folder, 0o700)
}

const newRun = (): string => randomBytes(8).toString('hex')
