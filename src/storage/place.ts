/** Between a service and a restore: at most one of them works on a data folder. */
import { access, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../base/index.ts'

/** In the data folder, while a restore fills it. */
export const RESTORING = 'restoring'

/** Throws while a restore is at work. Of a restore and a start in the same moment, the database comes from one of them. */
export async function refuseRestoring(dataDir: string) {
  const folder = join(dataDir, RESTORING)
  const isThere = await access(folder).then(
    () => true,
    (error) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
  if (isThere)
    throw new Error(
      `A restore into ${dataDir} is at work, or was killed. Wait until it is over; if none is at work, remove ${folder} and restore again.`,
    )
}

const LOOK_MS = 2000

/**
 * Tells when the file under a path is not the one any more that was opened. After a data folder was moved away and
 * another one restored there, the service would write to both: rows to the one, files to the other.
 */
export async function watchPlace(file: string, clock: Clock, onMoved: (error: Error) => void) {
  const opened = await stat(file)
  const stopping = new AbortController()
  const { signal } = stopping

  async function look() {
    while (!signal.aborted) {
      await clock.sleep(LOOK_MS, signal)
      if (signal.aborted) return
      const found = await stat(file).catch(absent)
      if (found?.ino === opened.ino && found.dev === opened.dev) continue
      onMoved(new Error(`${file} was moved or replaced while the service ran, so it ends. Start it again.`))
      return
    }
  }
  const looking = look()
  looking.catch((error: Error) => onMoved(error))
  return async function stop() {
    stopping.abort()
    await looking.catch(() => undefined)
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
