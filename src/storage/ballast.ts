/**
 * A file that only takes disk space. On a full disk the database removes it and writes once more: so an environment that
 * fills the disk can be deleted, for which a few rows must be written first.
 */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { absent } from '../base/index.ts'

const BYTES = 8 * 1024 * 1024

export function createBallast(path: string) {
  return {
    bytes: BYTES,

    /** Takes the space again, if it was freed. */
    async load() {
      if (await stat(path).catch(absent)) return
      const draft = `${path}.new`
      try {
        // Random bytes, since some file systems store zeros without allocating space for them.
        const file = await open(draft, 'w', 0o600)
        await file.writeFile(randomBytes(BYTES)).finally(() => file.close())
        await rename(draft, path)
      } finally {
        await rm(draft, { force: true })
      }
    },

    /** Returns whether there was any. */
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
