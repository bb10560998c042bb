/**
 * Runs git in the sandbox, as a user without rights, within limits of memory, time, processes and disk, and without a network
 * unless it is given one. Nothing of a repository is executed: its hooks are not used, and neither it nor the machine has a say
 * in the configuration.
 */
import { PassThrough } from 'node:stream'
import { Problem } from '../contract/index.ts'
import { type Engine, type Exit, type Limits, type Mount, type NetworkNamespace, runToEnd } from '../engines/index.ts'
import { SCRIPTS, type Script } from './scripts.ts'
import { type GitFolder, INSIDE } from './work-folders.ts'

export type GitJob = {
  folder: GitFolder
  script: Script
  args?: readonly string[]
  environment?: Readonly<Record<string, string>>
  mounts?: readonly Mount[]
  /** It only reads the folder. */
  isReading?: true
  /** Without one, the job has no network. */
  network?: NetworkNamespace | undefined
  /** On a machine that has no networks for jobs, it uses that of the machine, as builds do. */
  isOnline?: boolean
  signal: AbortSignal
  /** Ten minutes, unless given. */
  timeoutMs?: number
}

export type GitOutput = { exit: Exit; errors: string }

const TIMEOUT_MS = 10 * 60_000
const MAX_ERROR_BYTES = 16 * 1024

/** Whatever the machine, the user or a repository has set. */
const ENVIRONMENT = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: '/tmp',
  LANG: 'C.UTF-8',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
}

export type GitJobs = ReturnType<typeof createGitJobs>

export function createGitJobs({ engine, limits }: { engine: Engine; limits: Limits }) {
  /** Runs to its end. Where `take` returns a promise, no more output is read before it settles. */
  async function run(job: GitJob, take: (chunk: Buffer) => unknown): Promise<GitOutput> {
    const { folder, script, args = [], mounts = [], environment = {}, network, isOnline, signal, isReading } = job
    const deadline = AbortSignal.timeout(job.timeoutMs ?? TIMEOUT_MS)
    const errors: Buffer[] = []
    let errorBytes = 0
    const exit = await runToEnd(
      engine,
      {
        name: 'git',
        argv: ['/bin/sh', '-c', SCRIPTS[script], 'git', ...args],
        cwd: INSIDE.folder,
        environment: { ...ENVIRONMENT, ...environment },
        mounts: [{ from: folder.path, to: INSIDE.folder, isWritable: isReading !== true }, ...mounts],
        user: folder.user,
        limits,
        ...(network ? { network } : isOnline ? {} : { isOffline: true }),
      },
      (stream, chunk) => {
        if (stream === 'stdout') return take(chunk)
        if (errorBytes < MAX_ERROR_BYTES) errors.push(chunk)
        errorBytes += chunk.length
      },
      AbortSignal.any([signal, deadline]),
    )
    signal.throwIfAborted()
    if (deadline.aborted) throw new Problem('GIT_FAILED', 'git took too long.')
    if (exit.excess?.length) throw new Problem('GIT_FAILED', `git reached a limit of this service: ${exit.excess}.`)
    return { exit, errors: Buffer.concat(errors).toString('utf8').slice(0, MAX_ERROR_BYTES) }
  }

  /** What it writes; fails unless it succeeds. */
  async function read(job: GitJob, maxBytes: number): Promise<Buffer> {
    const chunks: Buffer[] = []
    let bytes = 0
    const over = new AbortController()
    const { exit, errors } = await run({ ...job, signal: AbortSignal.any([job.signal, over.signal]) }, (chunk) => {
      bytes += chunk.length
      if (bytes > maxBytes) over.abort(new Problem('GIT_FAILED', 'git wrote more than this service reads.'))
      else chunks.push(chunk)
    })
    if (exit.code !== 0) throw failed(errors)
    return Buffer.concat(chunks)
  }

  /** What it writes, as it is read. If the reader stops early, the job is ended. The stream fails unless the job succeeds. */
  async function* stream(job: GitJob): AsyncGenerator<Buffer> {
    const over = new AbortController()
    const pipe = new PassThrough({ highWaterMark: 1024 * 1024 })
    const running = run({ ...job, signal: AbortSignal.any([job.signal, over.signal]) }, (chunk) => {
      if (pipe.destroyed || pipe.write(chunk)) return undefined
      return new Promise<void>((resolve) => {
        pipe.once('drain', resolve)
        pipe.once('close', resolve)
      })
    }).then(
      ({ exit, errors }) => (exit.code === 0 ? pipe.end() : pipe.destroy(failed(errors))),
      (error) => pipe.destroy(error),
    )
    try {
      yield* pipe as AsyncIterable<Buffer>
    } finally {
      over.abort()
      pipe.destroy()
      await running
    }
  }

  return { run, read, stream, engine }
}

/** The words of git, in one line. */
export const failed = (errors: string): Problem =>
  new Problem(
    'GIT_FAILED',
    `git failed: ${
      errors
        .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
        .trim()
        .slice(0, 500) || 'it gave no reason'
    }.`,
  )
