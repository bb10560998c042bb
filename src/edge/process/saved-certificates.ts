/**
 * The certificates that the edge knew last, with their keys, so that it serves HTTPS when it is started again while the control
 * process is away. Only the user of the service can read the file.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import type { EdgeCertificate } from '../tls/types.ts'

export function createSavedCertificates(file: string) {
  let isClosed = false
  let next: readonly EdgeCertificate[] | undefined
  let saving: Promise<void> | undefined

  /** Of several changes while one is being saved, only the last is. */
  async function saveNext() {
    while (next) {
      const draft = `${file}.${process.pid}.new`
      const text = JSON.stringify(next)
      next = undefined
      await writeFile(draft, text, { mode: 0o600 })
      await rename(draft, file)
    }
  }

  return {
    async load(): Promise<EdgeCertificate[]> {
      try {
        return JSON.parse(await readFile(file, 'utf8'))
      } catch (error) {
        // It is replaced as a whole, so a damaged one was not written here.
        if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return []
        throw error
      }
    },

    save(certificates: readonly EdgeCertificate[]): Promise<void> {
      if (isClosed) return Promise.resolve()
      next = certificates
      saving ??= saveNext().finally(() => {
        saving = undefined
      })
      return saving
    },

    /** Another process saves them from now on. */
    close() {
      isClosed = true
    },
  }
}

export type SavedCertificates = ReturnType<typeof createSavedCertificates>
