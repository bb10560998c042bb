/**
 * Which files such as `.env` are sent. They hold secrets of the user, and the ignore rules of a repository are written by its
 * author; so no rule can include one. A file that git tracks with the same content is known to the author already: many sites
 * keep public settings so, and do not build without them. Any other one is sent only when the user names it.
 */
import { join, relative, sep } from 'node:path'
import { isLocalEnvFile } from '../../contract/index.ts'
import { type GitIndex, openGitIndex } from './git-index.ts'
import { repositoryAround } from './rules.ts'

/** Returns whether a file or folder, relative to the project, is sent; rules can only leave it out. */
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
