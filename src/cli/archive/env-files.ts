/**
 * Which files such as `.env` are sent. They hold secrets of whoever works here, and the rules of a repository are written
 * by whoever made it; so no rule takes one in. What git has, with the same content, its maker has already: many sites keep
 * public settings so, and do not build without them. Everything else is sent when it is asked for by name.
 */
import { join, relative, sep } from 'node:path'
import { isLocalEnvFile } from '../../contract/index.ts'
import { type GitIndex, openGitIndex } from './git-index.ts'
import { repositoryAround } from './rules.ts'

/** Says of a file or folder, relative to the project, whether it is sent; rules can only leave it out. */
export function envFileJudge(project: string, wanted: readonly string[]) {
  let repository: Promise<{ top: string; index: GitIndex } | undefined> | undefined

  return async (path: string, isLeftOutByRules: boolean): Promise<boolean> => {
    if (wanted.includes(path)) return true
    if (isLeftOutByRules || isLocalEnvFile(path.slice(path.lastIndexOf('/') + 1))) return false
    repository ??= repositoryOf(project)
    const found = await repository
    if (!found) return false
    const file = join(project, path)
    return found.index.hasContent(relative(found.top, file).split(sep).join('/'), file)
  }
}

async function repositoryOf(project: string) {
  const top = await repositoryAround(project)
  return top === undefined ? undefined : { top, index: await openGitIndex(top) }
}
