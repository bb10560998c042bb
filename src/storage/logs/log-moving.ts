/**
 * Moves what is closed of logs to the object store. Every step may be cut off, or be done by two processes at once: a file is
 * removed only when its lines are behind a row, and a part that is being moved has a name that no writer uses.
 */
import { rename, rm } from 'node:fs/promises'
import { absent } from '../../base/index.ts'
import { endOf, firstLineOf } from './line-files.ts'
import { logPlacesIn } from './log-places.ts'
import type { StoredParts } from './stored-parts.ts'

type Parts = {
  folder: string
  stored: Pick<StoredParts, 'keep'>
  /** Whether a backup may be copying files. Checked after the row was written. */
  isHeld(): Promise<boolean>
}

export function createLogMoving({ folder, stored, isHeld }: Parts) {
  const { pathOf, olderOf, newClosed, closedOf, list } = logPlacesIn(folder)

  async function removeUnlessHeld(file: string) {
    if (!(await isHeld())) await rm(file, { force: true })
  }

  return {
    /** Whether all processes have the same logs, and one of them is enough. */
    isShared: false as boolean,
    list,

    /** A log to which nothing will be written any more. */
    async moveWhole(name: string) {
      await stored.keep(name, pathOf(name))
      await removeUnlessHeld(pathOf(name))
    },

    /**
     * The part of a log that was closed because it was full. As on the disk, it takes the place of the one before it; so while
     * the store is away no more than that one waits.
     */
    async moveClosed(name: string) {
      // The next writer continues from the number of the last line, which must stay.
      const hasLines = (await endOf(pathOf(name))).lastNumber !== undefined
      if (hasLines && !(await isHeld())) await rename(olderOf(name), newClosed(name)).catch(absent)
      const closed: { file: string; number: number }[] = []
      for (const file of await closedOf(name)) closed.push({ file, number: (await firstLineOf(file))?.number ?? 0 })
      const [newest, ...older] = closed.toSorted((a, b) => b.number - a.number)
      for (const { file } of older) await removeUnlessHeld(file)
      if (!newest) return
      await stored.keep(name, newest.file, { isOnly: true })
      await removeUnlessHeld(newest.file)
    },
  }
}

export type LogMoving = ReturnType<typeof createLogMoving>
