/** Ensures that a service and a restore do not use a data folder at the same time. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, type Clock, repeat } from '../base/index.ts'

/** This folder exists in the data folder while a restore fills it. */
export const RESTORING = 'restoring'

/** Throws while a restore runs. If a restore and a service start at the same moment, one of them makes the database. */
export async function refuseRestoring(dataDir: string) {
  const folder = join(dataDir, RESTORING)
  if (await stat(folder).catch(absent))
    throw new Error(
      `A restore into ${dataDir} is at work, or was killed. Wait until it is over; if none is at work, remove ${folder} and restore again.`,
    )
}

const CHECK_MS = 2000

/**
 * Reports, once, that the file under a path is no longer the one that was opened. After a data folder was moved away and
 * another one restored there, the service would write to both: rows to the one, files to the other.
 */
export async function watchPlace(file: string, clock: Clock, onMoved: (error: Error) => void) {
  const opened = await stat(file)
  const watch = repeat(clock, CHECK_MS, async () => {
    const found = await stat(file).catch(absent)
    if (found?.ino === opened.ino && found.dev === opened.dev) return
    throw new Error(`${file} was moved or replaced while the service ran, so it ends. Start it again.`)
  })
  watch.done.catch(onMoved)
  return watch.stop
}
