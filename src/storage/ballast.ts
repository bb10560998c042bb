/**
 * A file that does nothing but take room. On a full disk the database throws it overboard and writes once more: so an
 * environment can be deleted that makes the disk full, which takes a few rows to be written first.
 */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'

const BYTES = 8 * 1024 * 1024

export function createBallast(path: string) {
  return {
    bytes: BYTES,

    /** Takes the room again, if it was given away. */
    async load() {
      const isThere = await stat(path).catch((error) => {
        if (error.code !== 'ENOENT') throw error
      })
      if (isThere) return
      const draft = `${path}.new`
      try {
        // Random, since some file systems keep zeros without keeping room for them.
        const file = await open(draft, 'w', 0o600)
        await file.writeFile(randomBytes(BYTES)).finally(() => file.close())
        await rename(draft, path)
      } finally {
        await rm(draft, { force: true })
      }
    },

    /** Whether there was any. */
    throwOut(): boolean {
      try {
        rmSync(path)
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
        throw error
      }
    },
  }
}

export type Ballast = ReturnType<typeof createBallast>
