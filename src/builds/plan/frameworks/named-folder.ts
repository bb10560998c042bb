/** What the files of another host name: the folder of the output, and the command that makes it. */
import { posix } from 'node:path'
import { parse } from 'smol-toml'
import type { Project } from '../project/project.ts'

export const HOST_FILES = ['netlify.toml', 'vercel.json'] as const

type HostFile = (typeof HOST_FILES)[number]

const READS: Record<HostFile, { folder: string; command: string; read(text: string): unknown }> = {
  'netlify.toml': { folder: 'publish', command: 'command', read: (text) => fieldOf(parse(text), 'build') },
  'vercel.json': { folder: 'outputDirectory', command: 'buildCommand', read: (text) => JSON.parse(text) },
}

type Named = { file: HostFile; setting: string; text: string }

/** A file that cannot be read names nothing: it is not ours, and the folders that are usual are looked at anyway. */
function namedIn(project: Project, what: 'folder' | 'command'): Named[] {
  return HOST_FILES.flatMap((file) => {
    const setting = READS[file][what]
    const text = fieldOf(contentOf(project, file), setting)
    return typeof text === 'string' && READABLE.test(text) ? [{ file, setting, text: text.trim() }] : []
  })
}

const READABLE = /^(?=.*\S)\P{Cc}{1,200}$/u

function contentOf({ texts }: Project, file: HostFile): unknown {
  const text = texts[file]
  try {
    return text === undefined ? undefined : READS[file].read(text)
  } catch {
    return undefined
  }
}

export function namedFolder(project: Project): { folder: string; because: string } | undefined {
  for (const { file, setting, text } of namedIn(project, 'folder')) {
    // At both hosts a slash at the beginning means the top of the project.
    const folder = posix.normalize(`./${text}`).replace(/(?<=.)\/+$/, '')
    if (folder !== '..' && !folder.startsWith('../')) return { folder, because: `${file} says ${setting}: '${text}'` }
  }
  return undefined
}

/** It is not run here; the sentence says what to do with it. */
export function namedCommandHint(project: Project): string | undefined {
  const [found] = namedIn(project, 'command')
  return (
    found &&
    `${found.file} says ${found.setting}: '${found.text}'. Commands of other hosts are not run: make it the script headland-build in package.json.`
  )
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
