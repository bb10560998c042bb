/** The files of this repository, for rules that read them. */
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Source } from './source.ts'

const TOP = fileURLToPath(new URL('../../..', import.meta.url))

export const readText = (path: string): Promise<string> => readFile(join(TOP, path), 'utf8')

/** Paths below these folders, without what only tests deploy. */
export async function pathsIn(...folders: string[]): Promise<string[]> {
  const found: string[] = []
  for (const folder of folders)
    for (const entry of await readdir(join(TOP, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name).slice(TOP.length).replaceAll(sep, '/')
      if (entry.isFile() && !path.startsWith('test/fixtures/')) found.push(path)
    }
  return found
}

/** Source files below these folders; in `bin` every file is one. */
export async function sourcesIn(...folders: string[]): Promise<Source[]> {
  const paths = (await pathsIn(...folders)).filter((path) => /\.tsx?$/.test(path) || path.startsWith('bin/'))
  return Promise.all(paths.map(async (path) => ({ path, text: await readText(path) })))
}
