/**
 * `.headland.json`: where the project in this folder is deployed to. It holds no secret, and belongs in version control.
 * The author of the project may be another person, so it is taken as a suggestion: it is read from the project's own folders
 * only, its names are validated, and a first deploy to the account that it names is confirmed (`accounts-used.ts`).
 */
import { lstat, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { names, type schema, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { serviceUrl } from '../connection/saved-logins.ts'
import { NotPlain, readSmallFile, replaceFile } from './small-files.ts'

export const PROJECT_FILE = '.headland.json'

export type Project = { url?: string; account?: string; app?: string; environment?: string }

const MAX_BYTES = 64 * 1024

/** The nearest one, in this folder or in one above it that is part of the same project. */
export async function findProject({ folder, environment }: Pick<ClientCall, 'folder' | 'environment'>) {
  const start = await realpath(resolve(folder))
  const owners = await ownersAt(start)
  for (const at of await foldersOf(start, environment.homeFolder, owners)) {
    const file = join(at, PROJECT_FILE)
    const found = await readSmallFile(file, { maxBytes: MAX_BYTES }).catch((error) => {
      throw error instanceof NotPlain ? new UsageError(error.message) : error
    })
    if (!found) continue
    if (!owners.has(found.facts.uid))
      throw new UsageError(`${file} belongs to another user, so it is not used: remove it`)
    return { folder: at, project: parse(file, found.content.toString('utf8')) }
  }
  return undefined
}

export async function writeProject(folder: string, project: Project): Promise<string> {
  const file = join(folder, PROJECT_FILE)
  const fields = Object.keys(FORMS) as (keyof Project)[]
  const ordered = Object.fromEntries(fields.flatMap((field) => (project[field] ? [[field, project[field]]] : [])))
  await replaceFile(file, `${JSON.stringify(ordered, null, 2)}\n`, 0o644)
  return file
}

/**
 * The user, and the owner of the folder: in a container the source often has another owner than the process. What a third user
 * puts into a folder that is writable for all, as /tmp is, is no part of the project.
 */
async function ownersAt(folder: string): Promise<Set<number>> {
  const { uid } = await lstat(folder)
  return new Set([process.getuid?.() ?? uid, uid])
}

/**
 * The folder and those above it, up to the top of its repository. Without a repository, those between it and the home
 * folder: what lies above, or in the home folder itself, is not one project.
 */
async function foldersOf(start: string, homeFolder: string, owners: Set<number>): Promise<string[]> {
  const home = await realpath(homeFolder).catch(() => homeFolder)
  const all: string[] = []
  for (let at = start; at !== dirname(at); at = dirname(at)) {
    if (at === home && at !== start) return all
    all.push(at)
    const git = await lstat(join(at, '.git')).catch(() => undefined)
    if (git && owners.has(git.uid)) return all
  }
  return [start]
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
    if (!Object.hasOwn(FORMS, field)) {
      throw new UsageError(`${file} has ${field}; it may have ${Object.keys(FORMS).join(', ')}`)
    }
    if (typeof value !== 'string' || value === '') throw new UsageError(`${file}: ${field} must be a text`)
    const fault = FORMS[field as keyof Project](value)
    if (fault !== undefined) throw new UsageError(`${file}: '${value}' cannot be the ${field}: ${fault}`)
  }
  return content
}

/** What is wrong with a value. */
const FORMS: Record<keyof Project, (value: string) => string | undefined> = {
  url: (value) => void serviceUrl(value),
  account: fitting(names.accountName),
  app: fitting(names.appName),
  // An id is a line of text too.
  environment: fitting(names.displayName),
}

function fitting({ pattern, maxLength = Number.POSITIVE_INFINITY, description }: schema.Schema<string>) {
  const form = new RegExp(String(pattern), 'u')
  return (value: string) => (form.test(value) && value.length <= Number(maxLength) ? undefined : String(description))
}
