/** The files of an unpacked archive, as planning sees them. */
import { open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Source } from './project.ts'

const TEXT_BYTES_MOST = 1024 * 1024

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
    files: [...files].sort(),
    async read(path) {
      const full = join(folder, path)
      const found = files.has(path) ? await stat(full) : undefined
      return found && found.size <= TEXT_BYTES_MOST ? readFile(full, 'utf8') : undefined
    },
    async head(path, bytes) {
      if (!files.has(path)) return undefined
      await using file = await open(join(folder, path))
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0)
      return buffer.toString('utf8', 0, bytesRead)
    },
  }
}
