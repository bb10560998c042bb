/** Logs in files: numbered lines, one JSON object each; closed parts of them may be in an object store. */

import { rm } from 'node:fs/promises'
import { type Clock, systemClock } from '../../base/index.ts'
import { createFilePlace } from './file-place.ts'
import { endOf, firstTimeOf, openTail } from './line-files.ts'
import { createLineReader } from './line-reader.ts'
import type { NumberedLine } from './line-texts.ts'
import { type LogPlaces, logPlacesIn } from './log-places.ts'
import { createLogSet, type LineLogs, type LogTail } from './log-set.ts'
import type { StoredParts } from './stored-parts.ts'

export type {
  LineLog,
  LineLogOptions,
  LineLogs,
  LogLine,
  LogStream,
  NumberedLine,
  RecordLog,
} from './log-set.ts'

type Options = {
  clock?: Clock
  /** Closed parts in an object store; without it, all lines are in files. */
  stored?: Pick<StoredParts, 'of' | 'fetch' | 'pieces' | 'forget' | 'list'> | undefined
}

export function createLineLogs(folder: string, { clock = systemClock, stored }: Options = {}): LineLogs {
  const places = logPlacesIn(folder)
  const { pathOf, olderOf } = places
  const { closedOf, ...reader } = createLineReader(places, stored)

  return createLogSet(
    {
      ...reader,

      /** A log that cannot be opened now, because the disk is full, is opened when there is something to write. */
      async open(name, { whenFull, maxBytes, firstNumber }) {
        const [path, olderPath] = [pathOf(name), olderOf(name)]
        const [older, newer, firstTime] = await Promise.all([endOf(olderPath), endOf(path), firstTimeOf(path)])
        const { lastNumber = older.lastNumber ?? firstNumber - 1, ...end } = newer
        return { place: createFilePlace({ path, olderPath, whenFull, maxBytes, ...end, firstTime }), lastNumber }
      },

      tail: (name) => tailOf(places, name),

      async removeOlder(name, time) {
        const older = await firstTimeOf(olderOf(name))
        if (older !== undefined && older < time) await rm(olderOf(name), { force: true })
      },

      async remove(name) {
        await stored?.forget(name)
        for (const path of [pathOf(name), olderOf(name), ...(await closedOf(name))]) await rm(path, { force: true })
      },

      async list(parent) {
        return [...new Set([...(await places.list(parent)), ...((await stored?.list(parent)) ?? [])])]
      },
    },
    clock,
  )
}

async function tailOf({ pathOf }: LogPlaces, name: string): Promise<LogTail> {
  let tail = await openTail<NumberedLine>(pathOf(name))
  return {
    async read<Line extends NumberedLine>() {
      tail ??= await openTail(pathOf(name))
      // Asked before the last lines are read: nothing is written to a file that was replaced.
      const isReplaced = (await tail?.isReplaced()) ?? false
      const lines = ((await tail?.read()) ?? []) as Line[]
      if (lines.length === 0 && isReplaced) {
        await tail?.close()
        tail = undefined
      }
      return { lines, isMore: lines.length > 0 || isReplaced }
    },
    close: async () => tail?.close(),
  }
}
