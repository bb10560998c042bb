/** `.headland.json`: where the project in this folder is deployed to. It holds no secret, and belongs in version control. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { UsageError } from '../contract/index.ts'

export const PROJECT_FILE = '.headland.json'

export type Project = { url?: string; account?: string; app?: string; environment?: string }

const FIELDS = ['url', 'account', 'app', 'environment'] as const

/** The nearest one, in this folder or above it, as git looks for its own. */
export async function findProject(folder: string): Promise<{ folder: string; project: Project } | undefined> {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const text = await readFile(join(at, PROJECT_FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
      throw error
    })
    if (text !== undefined) return { folder: at, project: parse(join(at, PROJECT_FILE), text) }
    if (dirname(at) === at) return undefined
  }
}

export async function writeProject(folder: string, project: Project): Promise<string> {
  const file = join(folder, PROJECT_FILE)
  const ordered = Object.fromEntries(FIELDS.flatMap((field) => (project[field] ? [[field, project[field]]] : [])))
  await writeFile(`${file}.new`, `${JSON.stringify(ordered, null, 2)}\n`)
  await rename(`${file}.new`, file)
  return file
}

function parse(file: string, text: string): Project {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${file} is not JSON: ${(error as Error).message}`)
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new UsageError(`${file} must hold one JSON object`)
  }
  for (const [field, value] of Object.entries(content)) {
    if (!FIELDS.includes(field as keyof Project)) {
      throw new UsageError(`${file} has ${field}; it may have ${FIELDS.join(', ')}`)
    }
    if (typeof value !== 'string' || value === '') throw new UsageError(`${file}: ${field} must be a text`)
  }
  return content
}
