/**
 * The examples of this package, offered as archives that a client uploads like its own. Each is packed once, when it is asked
 * for first, and kept in memory: they are a few kilobytes.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { names, Problem, type resources } from '../contract/index.ts'
import { zipSmall } from '../zip/index.ts'

/** The first one is meant for a first look. */
const OFFERED = {
  welcome: { displayName: 'Welcome', description: 'A site of two pages, written by a build script without packages.' },
  'node-server': {
    displayName: 'Node server',
    description: 'A server in one file: no build, and a process that runs.',
  },
}

type Id = keyof typeof OFFERED

const IDS = Object.keys(OFFERED) as Id[]

/** The same relative path from `dist/examples` and from `src/examples`. */
const FOLDER = fileURLToPath(new URL('../../examples', import.meta.url))
/** What the tests of Headland expect of an example is no part of it. */
const NOT_PACKED = new Set(['expect.json'])
/** The package ships these files, so more of them would be a mistake of the package. */
const MAX_FILES = 50
const MAX_BYTES = 256 * 1024

export type ExampleArchive = { zip: Buffer; files: number }

export function createExamples({ folder = FOLDER }: { folder?: string } = {}) {
  const packed = new Map<Id, Promise<ExampleArchive>>()

  function archiveOf(id: Id): Promise<ExampleArchive> {
    const known = packed.get(id)
    if (known) return known
    const made = pack(join(folder, id))
    packed.set(id, made)
    // What could not be read may be readable at the next request.
    made.catch(() => packed.delete(id))
    return made
  }

  return {
    list: (): Promise<resources.Example[]> =>
      Promise.all(
        IDS.map(async (id) => {
          const { zip, files } = await archiveOf(id)
          return { name: names.exampleResource(id), ...OFFERED[id], files, bytes: zip.length }
        }),
      ),

    /** The archive of an example. The same files are always the same bytes. */
    async archive(id: string): Promise<Buffer> {
      if (!isOffered(id)) throw new Problem('EXAMPLE_NOT_FOUND')
      return (await archiveOf(id)).zip
    },
  }
}

export type Examples = ReturnType<typeof createExamples>

const isOffered = (id: string): id is Id => Object.hasOwn(OFFERED, id)

async function pack(folder: string): Promise<ExampleArchive> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .filter((path) => !NOT_PACKED.has(path))
    .sort()
  if (paths.length === 0 || paths.length > MAX_FILES) throw new Error(`${folder} has ${paths.length} files`)
  const files = await Promise.all(paths.map(async (path) => ({ path, content: await readFile(join(folder, path)) })))
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0)
  if (bytes > MAX_BYTES) throw new Error(`${folder} has ${bytes} bytes`)
  return { zip: zipSmall(files), files: files.length }
}
