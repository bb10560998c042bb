/**
 * The tree of a commit as an archive: made by `git archive`, and checked and stored as an upload is. Submodules and files of Git
 * LFS are not fetched; the notes of the commit name them, and builds show these as warnings.
 */
import { LIMITS, Problem, type resources } from '../contract/index.ts'
import type { Digest } from '../storage/index.ts'
import type { GitJobs } from './jobs.ts'
import { type GitFolder, INSIDE } from './work-folders.ts'

/** The same as that of an upload. */
export type CommitArchive = { digest: Digest; bytes: number; files: number; commit: resources.Commit }

export type ArchiveOptions = {
  signal: AbortSignal
  /** The folder with objects that were received and are not accepted yet, within the repository's folder of objects. */
  quarantine?: string | undefined
  /** Called as bytes arrive, with their number so far. When it throws, the rest is not read. */
  admit?(bytes: number): Promise<void>
}

/** What the module of archives does. */
export type ArchiveStore = {
  /** Around everything, and taken off by those who read the archive: so a tree with one folder at its top stays as it is. */
  ownFolder: string
  take(file: AsyncIterable<Buffer>, options: Omit<ArchiveOptions, 'quarantine'>): Promise<Omit<CommitArchive, 'commit'>>
  look<T>(
    digest: Digest,
    use: (inside: { head(path: string, bytes: number): Promise<string | undefined> }) => Promise<T>,
  ): Promise<T>
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/
const MAX_LIST_BYTES = 32 * 1024 * 1024

export function createCommitArchives({ jobs, archives }: { jobs: GitJobs; archives: ArchiveStore }) {
  return async function archive(
    folder: GitFolder,
    commit: string,
    { signal, quarantine = '', admit }: ArchiveOptions,
  ): Promise<CommitArchive> {
    if (!COMMIT.test(commit)) throw new Problem('GIT_FAILED', 'The id of the commit is not one.')
    const args = [INSIDE.repository, checkQuarantine(quarantine), commit, archives.ownFolder]
    const job = { folder, args, isReading: true, signal } as const
    const { author, subject, entries } = readDescription(
      await jobs.read({ ...job, script: 'describe' }, MAX_LIST_BYTES),
    )
    const stored = await archives.take(jobs.stream({ ...job, script: 'archive' }), {
      signal,
      ...(admit ? { admit } : {}),
    })
    const pointers = await archives.look(stored.digest, (inside) => pointersIn(entries, inside))
    const submodules = entries.filter(({ kind }) => kind === 'commit').map(({ path }) => path)
    const notes = [...noteOn(submodules, 'submodule'), ...pointers]
    return {
      ...stored,
      commit: {
        sha: commit,
        ...(subject ? { subject } : {}),
        ...(author ? { author } : {}),
        ...(notes.length > 0 ? { notes } : {}),
      },
    }
  }
}

/** The name comes from a job, and becomes part of a path. */
function checkQuarantine(name: string): string {
  if (/^(?:[A-Za-z0-9_][A-Za-z0-9_-]*)?$/.test(name)) return name
  throw new Problem('GIT_FAILED', 'The folder of received objects has a name that git does not give.')
}

type Entry = { kind: string; bytes: number; path: string }

/** The author, the subject and the tree, as the job writes them. */
export function readDescription(output: Buffer): { author: string; subject: string; entries: Entry[] } {
  const [author = '', subject = '', first = '', ...rest] = output.toString('utf8').split('\0')
  const entries = [first.replace(/^\n/, ''), ...rest].flatMap((line): Entry[] => {
    const [, kind = '', bytes = '', path = ''] = /^\d+ (\w+) [0-9a-f]+ +(\d+|-)\t(.*)$/s.exec(line) ?? []
    return kind === '' ? [] : [{ kind, bytes: Number(bytes), path }]
  })
  return { author: oneLine(author, LIMITS.authorLength), subject: oneLine(subject, LIMITS.messageLength), entries }
}

/** As the contract has it: no control characters, not blank, not too long. */
export const oneLine = (text: string, max: number): string =>
  text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, max)
    .toWellFormed()
    .trim()

const LFS = 'version https://git-lfs.github.com/spec/v1'
/** A pointer has three short lines. */
const POINTER_BYTES = { min: 100, max: 200 }
/** So many files of that size are read. */
const MAX_READ = 1000

async function pointersIn(
  entries: readonly Entry[],
  inside: { head(path: string, bytes: number): Promise<string | undefined> },
): Promise<string[]> {
  const small = entries.filter(({ bytes }) => bytes >= POINTER_BYTES.min && bytes <= POINTER_BYTES.max)
  const found: string[] = []
  for (const { path } of small.slice(0, MAX_READ)) {
    if ((await inside.head(path, LFS.length))?.startsWith(LFS)) found.push(path)
  }
  return noteOn(found, 'lfs')
}

const SHOWN = 5

function noteOn(paths: readonly string[], what: 'submodule' | 'lfs'): string[] {
  if (paths.length === 0) return []
  const shown = paths.slice(0, SHOWN).map((path) => oneLine(path, 100))
  const named = `${shown.join(', ')}${paths.length > SHOWN ? ` and ${paths.length - SHOWN} more` : ''}`
  return [
    what === 'submodule'
      ? `Submodules are not fetched, so these folders are empty: ${named}. Commit their files instead, or install them as packages.`
      : `Files of Git LFS are not fetched: the build sees pointers instead of them (${named}). Commit the files themselves, or load them in the build.`,
  ]
}
