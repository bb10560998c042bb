/** Git on this machine: whether it runs, and what it does for the service. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Engine, Limits } from '../engines/index.ts'
import { type ArchiveStore, createCommitArchives } from './archive.ts'
import { createGitJobs } from './jobs.ts'
import { createWorkFolders } from './work-folders.ts'

type Parts = {
  /** Undefined where this process runs no programs. */
  engine: Engine | undefined
  limits: Limits
  /** The folder in which the work folders are made. */
  folder: string
  canChooseUsers: boolean
  archives: ArchiveStore
}

/** Enough for git, which maps files into memory. */
const MAX_MEMORY_BYTES = 1024 ** 3
const PROCESSES = 128

export function createGit({ engine, limits, folder, canChooseUsers, archives }: Parts) {
  const memoryBytes = Math.min(limits.memoryBytes, MAX_MEMORY_BYTES)
  const jobs = engine && createGitJobs({ engine, limits: { ...limits, memoryBytes, processes: PROCESSES } })
  const folders = createWorkFolders({ folder, canChooseUsers })
  let found: Promise<string | undefined> | undefined

  return {
    /** Undefined where git runs; else why not, in one sentence for the operator. */
    obstacle(): Promise<string | undefined> {
      if (!engine)
        return Promise.resolve(
          'control processes of a cluster run no programs, and git is one: upload archives instead',
        )
      found ??= gitProblem().then((problem) => {
        // It may be installed while the service runs.
        if (problem !== undefined) found = undefined
        return problem
      })
      return found
    },
    folders,
    /** Throws where this process runs no programs: `obstacle` tells that first. */
    get jobs() {
      if (!jobs) throw new Error('this process runs no programs of tenants')
      return jobs
    },
    archive: (...given: Parameters<ReturnType<typeof createCommitArchives>>) => {
      if (!jobs) throw new Error('this process runs no programs of tenants')
      return createCommitArchives({ jobs, archives })(...given)
    },
  }
}

export type Git = ReturnType<typeof createGit>

/** Why git does not run here; undefined where it does. */
export async function gitProblem(): Promise<string | undefined> {
  try {
    await promisify(execFile)('git', ['http-backend', '--help-me'], { env: ENVIRONMENT, timeout: 10_000 })
    return undefined
  } catch (error) {
    const { code, stderr = '' } = error as NodeJS.ErrnoException & { stderr?: string }
    if (code === 'ENOENT') return 'git is not installed on the machine of the service'
    // Without a request it fails, and says so: it is there.
    return /is not a git command/.test(stderr) ? 'git has no http-backend on the machine of the service' : undefined
  }
}

const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }
