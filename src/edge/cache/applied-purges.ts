/**
 * The number up to which this edge has applied the purges of the control process. It is kept beside what is stored, so that a
 * process that takes the folder over asks for the purges since then.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const NAME = 'applied-purges'

export function createAppliedPurges(report: (error: unknown) => void) {
  let file: string | undefined
  let applied = 0

  /** If it cannot be kept, the next process begins with a lower number, and purges again. */
  function keep() {
    if (file === undefined) return
    try {
      writeFileSync(`${file}.new`, String(applied), { mode: 0o600 })
      renameSync(`${file}.new`, file)
    } catch (error) {
      report(error)
    }
  }

  return {
    /** Reads what an earlier process has kept in the folder. */
    open(folder: string) {
      file = join(folder, NAME)
      try {
        const text = readFileSync(file, 'utf8')
        if (/^\d{1,15}$/.test(text)) applied = Number(text)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') report(error)
      }
    },

    last: (): number => applied,

    /** One that arrives before its predecessor does not count: both are sent again with the next renewal. */
    add(number: number) {
      if (number !== applied + 1) return
      applied = number
      keep()
    },

    /** All purges up to this number are applied. */
    set(number: number) {
      applied = number
      keep()
    },
  }
}
