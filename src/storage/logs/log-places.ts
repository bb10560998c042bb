/**
 * The files of a log: the one that is written to, the older part that was closed when the log was full, and, where there is an
 * object store, closed parts on their way there.
 */
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { absent, randomToken } from '../../base/index.ts'

/** A name, or a name in a folder. */
const NAME = /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)?$/

const FILE = /^(?<name>.+?)(?<suffix>\.older|\.closed-[A-Za-z0-9_-]+)?\.log$/

/** A name contains an id of a stored record: it becomes a path only after this check. */
export function checkedLogName(name: string): string {
  if (!NAME.test(name)) throw new Error(`not the name of a log: ${JSON.stringify(name.slice(0, 80))}`)
  return name
}

export const isLogName = (text: string): boolean => NAME.test(text)

export function logPlacesIn(folder: string) {
  const pathOf = (name: string): string => join(folder, `${checkedLogName(name)}.log`)

  return {
    pathOf,
    olderOf: (name: string): string => join(folder, `${checkedLogName(name)}.older.log`),
    /** A name of its own for a part that leaves the log: the part that is closed next cannot replace it. */
    newClosed: (name: string): string => join(folder, `${checkedLogName(name)}.closed-${randomToken()}.log`),

    async closedOf(name: string): Promise<string[]> {
      const path = pathOf(name)
      const start = `${basename(path, '.log')}.closed-`
      const files = (await readdir(dirname(path)).catch(absent)) ?? []
      return files.filter((file) => file.startsWith(start)).map((file) => join(dirname(path), file))
    },

    /** The names of all logs in a folder, as `folder/name`; of those with a closed part only, if told so. */
    async list(parent: string, { isClosed = false } = {}): Promise<string[]> {
      const files = (await readdir(join(folder, parent)).catch(absent)) ?? []
      const names = files.flatMap((file) => {
        const { name, suffix } = FILE.exec(file)?.groups ?? {}
        return name === undefined || (isClosed && suffix === undefined) ? [] : name
      })
      return [...new Set(names)].map((name) => `${parent}/${name}`).filter(isLogName)
    },
  }
}

export type LogPlaces = ReturnType<typeof logPlacesIn>
