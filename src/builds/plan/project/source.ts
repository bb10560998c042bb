/** The files of an unpacked archive, as planning sees them. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sortInTurns } from '../../../base/index.ts'
import { headIn, textIn } from '../../run/untrusted-folder.ts'
import type { Source } from './project.ts'

const MAX_TEXT_BYTES = 1024 * 1024

export async function sourceInFolder(folder: string): Promise<Source> {
  const files = new Set<string>()

  async function walk(path: string): Promise<void> {
    for (const entry of await readdir(join(folder, path), { withFileTypes: true })) {
      const inner = path ? `${path}/${entry.name}` : entry.name
      if (entry.isDirectory()) await walk(inner)
      else if (entry.isFile()) files.add(inner)
    }
  }

  await walk('')
  return {
    files: await sortInTurns([...files], (path) => path),
    read: async (path) => (files.has(path) ? textIn(folder, path, MAX_TEXT_BYTES) : undefined),
    head: async (path, bytes) => (files.has(path) ? headIn(folder, path, bytes) : undefined),
  }
}
