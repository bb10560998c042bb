/** The git commit of a folder, as it is sent with an archive: out of the repository, or out of the variables of a CI. */

import { lstat, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Commit } from '../../client/index.ts'
import { LIMITS, names } from '../../contract/index.ts'
import type { SourceFile } from '../archive/files.ts'
import { repositoryAround } from '../archive/rules.ts'
import type { CiCommit } from '../command.ts'
import { isChanged } from './changes.ts'
import { openRepository, readHead } from './head.ts'
import { readCommit } from './objects.ts'

/**
 * Null where the folder is in no repository of its owner or the user, and no CI names a commit. `files` are those that are
 * sent: without them it is not determined whether they differ from the commit.
 */
export async function commitOf(
  given: string,
  ci: CiCommit | undefined,
  files?: readonly SourceFile[],
): Promise<Commit | null> {
  const folder = await realpath(given)
  const top = await repositoryAround(folder)
  const repository = top !== undefined && (await isOwn(top, folder)) ? await openRepository(top) : undefined
  const head = repository && (await readHead(repository))
  if (top === undefined || !repository || !head) return ci ? commitFrom(ci) : null
  // A CI checks out a commit and no branch.
  const branch = head.branch ?? (ci?.sha === head.sha ? ci.branch : undefined)
  const text = await readCommit(repository, head.sha)
  const commit = commitFrom({ sha: head.sha, branch, subject: text && subjectOf(text) })
  const isDirty = files && (await isChanged({ top, index: join(repository.folder, 'index') }, text, { folder, files }))
  return commit && isDirty !== undefined ? { ...commit, isDirty } : commit
}

/** A folder that is open to all, as /tmp is, may lie in a repository of a third person. */
async function isOwn(top: string, folder: string): Promise<boolean> {
  const [git, project] = [await lstat(join(top, '.git')), await lstat(folder)]
  return git.uid === project.uid || git.uid === process.getuid?.()
}

/** The lines of the first paragraph, as git shows them in one line. A text in another encoding than UTF-8 has none. */
export function subjectOf(commit: Buffer): string | undefined {
  const text = commit.toString('utf8')
  const end = text.indexOf('\n\n')
  if (end < 0 || /^encoding (?!utf-?8$)/im.test(text.slice(0, end))) return undefined
  return text
    .slice(end + 2)
    .trimStart()
    .split(/\n\s*(?:\n|$)/, 1)[0]
}

/** The texts may come from another person: they become one line, of the length that the service accepts. */
function commitFrom({ sha, branch, subject }: CiCommit): Commit | null {
  if (!new RegExp(String(names.commitSha.pattern)).test(sha)) return null
  const [shownBranch, shownSubject] = [lineOf(branch), lineOf(subject)]
  return {
    sha,
    ...(shownBranch && shownBranch.length <= LIMITS.branchLength ? { branch: shownBranch } : {}),
    ...(shownSubject ? { subject: shortened(shownSubject, LIMITS.messageLength) } : {}),
  }
}

const lineOf = (text = ''): string =>
  text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()

const shortened = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`
