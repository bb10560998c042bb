/**
 * Values that were files before the service had an object store. Each is moved by its first use, and by rounds that begin with
 * the service: first its row is written, then the file goes. Whatever cuts this off, the value is in the file or behind a row,
 * and the next attempt sees which of the two is newer.
 */
import { readdir, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, type Clock, type Log, type Repetition, repeat, settlesWithin } from '../../base/index.ts'
import { DRAFT, readValue } from '../file.ts'
import type { ValueAt } from './rows.ts'

export const MOVE_MS = 5000
/** After a minute without any file, no process of before the setting writes one any more. */
const QUIET_ROUNDS = 12
const AT_ONCE = 8

export type FileValue = ValueAt & { value: Uint8Array; time: number }

type Parts = {
  clock: Clock
  log: Log
  folderOf(environmentId: string): string
  /** Environments that may have files. */
  ids(): Promise<readonly string[]>
  /** Whether a backup may be copying files. Checked after the row was written. */
  isHeld(): Promise<boolean>
  /** Stores a value, unless there is a newer one; false if its environment does not exist. */
  keep(file: FileValue): Promise<boolean>
}

export function createValueMoves({ clock, log, folderOf, ids, isHeld, keep }: Parts) {
  let repetition: Repetition | undefined
  let quietRounds = 0
  let isFailing = false
  let isStopping = false

  const isOver = (): boolean => quietRounds >= QUIET_ROUNDS

  async function move({ environmentId, name }: ValueAt) {
    const path = join(folderOf(environmentId), name)
    const found = await stat(path).catch(absent)
    if (!found) return
    const value = await readValue(path)
    // One that is damaged was lost before.
    if (value && !(await keep({ environmentId, name, value, time: Math.round(found.mtimeMs) }))) return
    quietRounds = 0
    if (!(await isHeld())) await rm(path, { force: true })
  }

  async function moveAllOf(environmentId: string) {
    const folder = folderOf(environmentId)
    const names = await readdir(folder).catch(absent)
    if (!names) return
    const files: { name: string; time: number }[] = []
    for (const name of names) {
      if (name.endsWith(DRAFT)) await rm(join(folder, name), { force: true })
      else files.push({ name, time: (await stat(join(folder, name)).catch(absent))?.mtimeMs ?? 0 })
    }
    // Where they do not all fit, the most recently used are left.
    files.sort((a, b) => a.time - b.time)
    for (let from = 0; from < files.length && !isStopping; from += AT_ONCE) {
      await Promise.all(files.slice(from, from + AT_ONCE).map(({ name }) => move({ environmentId, name })))
    }
    await rmdir(folder).catch(unlessInUse)
  }

  /** The first fault ends it: the others would fail in the same way. It is reported once. */
  async function attempt() {
    quietRounds += 1
    try {
      for (const id of await ids()) if (!isStopping) await moveAllOf(id)
      if (isFailing) log.info('values are moved to the object store again')
      isFailing = false
    } catch (error) {
      quietRounds = 0
      if (!isFailing) log.warn({ err: error }, 'values stay on the disk until the object store takes them')
      isFailing = true
    }
    // It does not wait for this very round.
    if (isOver()) repetition?.stop()
  }

  return {
    /** The value of a key, if it is still a file. Rejects if the store is away. */
    async moveOne(at: ValueAt) {
      if (!isOver()) await move(at)
    },
    /** To be called after a new value has a row: a file must not take its place again, whether a backup is made or not. */
    async removeReplaced({ environmentId, name }: ValueAt) {
      if (!isOver()) await rm(join(folderOf(environmentId), name), { force: true })
    },
    start() {
      repetition = repeat(clock, MOVE_MS, attempt, { isImmediate: true })
    },
    /** A move may be cut off at any line. */
    async stop(graceMs: number) {
      isStopping = true
      if (repetition) await settlesWithin(clock, repetition.stop(), graceMs)
    },
  }
}

export type ValueMoves = ReturnType<typeof createValueMoves>

/** Another process has removed it, or files are left in it. */
function unlessInUse(error: NodeJS.ErrnoException) {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTEMPTY') throw error
}
