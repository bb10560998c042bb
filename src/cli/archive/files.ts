/**
 * The files of a project that are sent, in an order that is the same on every machine. What the service would refuse is
 * refused here, before anything is sent, with a message about the file on this machine.
 */
import { lstat, readdir, realpath } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { printableLine } from '../../base/index.ts'
import { isEnvFile, Problem } from '../../contract/index.ts'
import { PROJECT_FILE } from '../project/project-file.ts'
import { envFileJudge } from './env-files.ts'
import { type Rules, readRules } from './rules.ts'

export type SourceFile = {
  /** Relative to the project, with slashes. */
  path: string
  /** Where it is on this machine. */
  from: string
  bytes: number
  isExecutable: boolean
  /** Of a link: its target in the archive. */
  target?: string
}

export type Source = {
  files: SourceFile[]
  /** What cannot be sent and is not needed: a socket, a broken link. */
  skipped: { path: string; why: string }[]
  hasRules: boolean
  /** Files such as `.env`: those that are sent, and those that stay here. */
  envFiles: { sent: string[]; leftOut: string[] }
}

/** Never sent, and no rule can include them: what a build makes itself, the history, and what file managers leave behind. */
const NEVER = new Set(['node_modules', '.git', '.DS_Store', 'Thumbs.db'])

/** `wantedEnvFiles`: relative to the folder, with slashes. */
export async function filesOf(folder: string, wantedEnvFiles: readonly string[] = []): Promise<Source> {
  const project = await realpath(folder)
  const source: Source = { files: [], skipped: [], hasRules: false, envFiles: { sent: [], leftOut: [] } }
  const isSent = envFileJudge(project, wantedEnvFiles)

  async function walk(at: string, around: Rules) {
    const rules = await around.within(at)
    source.hasRules ||= rules.areGiven
    const entries = await readdir(join(project, at), { withFileTypes: true }).catch((error) => {
      throw unreadable(at, error)
    })
    const found = entries.flatMap((entry) => {
      const path = at === '' ? entry.name : `${at}/${entry.name}`
      // The project file is no part of the source, so that the same source is the same archive in every environment.
      if (NEVER.has(entry.name) || path === PROJECT_FILE) return []
      const isLeftOut = rules.leavesOut(path, entry.isDirectory() ? 'folder' : 'file')
      return isLeftOut && !isEnvFile(entry.name) ? [] : [{ path, entry, isLeftOut }]
    })
    const taken = await Promise.all(
      found.map(async (one) => {
        if (!isEnvFile(one.entry.name)) return [one]
        const isTaken = await isSent(one.path, one.isLeftOut)
        source.envFiles[isTaken ? 'sent' : 'leftOut'].push(one.path)
        return isTaken ? [one] : []
      }),
    )
    const files = taken.flat().filter(({ entry }) => !entry.isDirectory())
    source.files.push(...(await Promise.all(files.map(({ path }) => look(path)))).flatMap((file) => file ?? []))
    for (const { path, entry } of taken.flat()) if (entry.isDirectory()) await walk(path, rules)
  }

  async function look(path: string): Promise<SourceFile | undefined> {
    checkName(path)
    const from = join(project, path)
    const found = await lstat(from).catch((error) => {
      throw unreadable(path, error)
    })
    if (found.isSymbolicLink()) return linkAt(path, from)
    if (found.isFile()) return { path, from, bytes: found.size, isExecutable: (found.mode & 0o111) !== 0 }
    source.skipped.push({ path, why: 'not a file' })
    return undefined
  }

  /**
   * A link stays a link where it leads to a path of the project, with its final target as a relative path: the service accepts
   * no link to a link, and no absolute one.
   */
  async function linkAt(path: string, from: string): Promise<SourceFile | undefined> {
    const end = await realpath(from).catch(() => undefined)
    if (end === undefined) {
      source.skipped.push({ path, why: 'a link to nowhere' })
      return undefined
    }
    const inside = relative(project, end)
    if (inside === '..' || inside.startsWith(`..${sep}`)) {
      throw refused(path, `a link that leads out of the project, to ${end}. Put a copy in its place, or leave it out`)
    }
    const target = relative(dirname(from), end).split(sep).join('/') || '.'
    return { path, from, bytes: Buffer.byteLength(target), isExecutable: false, target }
  }

  await walk('', await readRules(project))
  // By code units, independent of the locale.
  source.files.sort((a, b) => (a.path < b.path ? -1 : 1))
  for (const list of Object.values(source.envFiles)) list.sort()
  if (source.files.length === 0) {
    const why = source.hasRules ? ': the rules of .gitignore and .headlandignore leave everything out' : ''
    throw new Problem('ARCHIVE_EMPTY', `There is nothing to send in ${folder}${why}.`)
  }
  return source
}

function checkName(path: string) {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (name.includes('\uFFFD')) throw refused(path, 'a name that is not UTF-8')
  if (/[\p{Cc}\\]/u.test(name)) throw refused(path, 'a control character or a back-slash in the name')
  if (/^[a-z]:/i.test(path)) throw refused(path, 'a name that looks like a drive letter')
}

const refused = (path: string, why: string): Problem =>
  new Problem('ARCHIVE_ENTRY_UNSAFE', `${printableLine(path)}: ${why}. A line in .headlandignore leaves it out.`)

const unreadable = (path: string, error: Error): Problem =>
  new Problem('ARCHIVE_ENTRY_UNSAFE', `${printableLine(path) || 'The folder'} cannot be read: ${error.message}`)
