/** A started program and all its descendants, which are stopped together. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Duplex, Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { settlesWithin, systemClock } from '../base/index.ts'
import type { Exit, Job, Output, Process } from './engine.ts'
import { listeningPorts } from './listening-ports.ts'
import { loginEnvironment } from './login.ts'
import { SANDBOX_VARIABLE } from './orphans.ts'

/** Node runs this file before every program: see there. */
export const LAUNCHER = fileURLToPath(new URL('./launch.mjs', import.meta.url))

/** A session is for programs without a pid namespace: its members are found even when their parents are gone. */
export type Spawn = {
  file: string
  args: readonly string[]
  /** Put into the environment, so that the next service on the same data folder recognizes the process. */
  sandboxId?: string
  isSession?: true
  /** A seccomp program, passed through descriptor 4. */
  filter?: Buffer
}

/** Starts the command and passes `job`'s argv, environment, folder and user to the launcher through descriptor 3. */
export function startProcess({ file, args, sandboxId, isSession, filter }: Spawn, job: Job, onOutput: Output): Process {
  const child = spawn(file, args, {
    // Neither the service's own environment nor the tenant's, which would change the behaviour of bubblewrap itself.
    env: sandboxId === undefined ? {} : { [SANDBOX_VARIABLE]: sandboxId },
    detached: isSession === true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...(filter ? (['pipe'] as const) : [])],
  })
  if (child.stdout) readAsTaken(child.stdout, (chunk) => onOutput('stdout', chunk))
  if (child.stderr) readAsTaken(child.stderr, (chunk) => onOutput('stderr', chunk))
  const gone = whenGone(child)
  const { pid } = child
  // It was never started, and `exited` rejects with the reason. No signal may be sent: kill(2) with a wrong id can mean every
  // process.
  if (pid === undefined) return { pid: 0, exited: gone, listeningPorts: async () => [], stop: () => gone }
  const { argv, cwd, user } = job
  const environment = loginEnvironment(job.environment, cwd)
  handOverWhenAsked(pipeOf(child, 3), JSON.stringify({ argv, environment, cwd, user }))
  if (filter) handOver(pipeOf(child, 4), filter)

  // Bubblewrap itself gets no SIGTERM: everything inside would be killed with it.
  const tree = () => (isSession ? [...new Set([pid, ...descendantsOf(pid), ...membersOf(pid)])] : descendantsOf(pid))
  let isOver = false
  const exited = gone.then((exit) => {
    // From here on the id may belong to another process, unless a member of the session keeps it.
    isOver = true
    if (isSession) for (const left of membersOf(pid)) signal(left, 'SIGKILL')
    return exit
  })

  return {
    pid,
    exited,
    listeningPorts: async () => (isOver ? [] : listeningPorts([pid, ...tree()])),
    async stop(graceMs) {
      if (!isOver && graceMs > 0) {
        // A shell or a package manager that dies at once would take its server with it, in the middle of a request. So they
        // get SIGTERM only when their children did not end.
        const servers = tree().filter((member) => !isWrapper(member))
        for (const server of servers) signal(server, 'SIGTERM')
        const firstMs = servers.length > 0 ? Math.min(graceMs / 4, WRAPPER_TIMEOUT_MS) : 0
        if (await settlesWithin(systemClock, exited, firstMs)) return exited
        for (const member of tree()) signal(member, 'SIGTERM')
        if (await settlesWithin(systemClock, exited, graceMs - firstMs)) return exited
      }
      // Killing bubblewrap kills the first process of the pid namespace, and with it everything inside. It comes first: if it
      // saw its program die before, it would report that by an exit code of its own.
      if (!isOver) for (const member of [pid, ...tree()]) signal(member, 'SIGKILL')
      return exited
    },
  }
}

function readAsTaken(source: Readable, take: (chunk: Buffer) => unknown) {
  source.on('data', (chunk: Buffer) => {
    const waiting = take(chunk)
    if (!(waiting instanceof Promise)) return
    source.pause()
    waiting.finally(() => source.resume())
  })
}

const pipeOf = (child: ChildProcess, descriptor: number): Duplex =>
  child.stdio[descriptor as 3] as Writable | Readable as Duplex

function handOver(pipe: Duplex, content: string | Buffer) {
  // A program that dies before it has read this is reported by its exit.
  pipe.on('error', () => undefined)
  pipe.end(content)
}

/**
 * The launcher asks before it starts the program: an answer proves that the service lives and that the sandbox will end with
 * it. If the service died while the sandbox was made, there is no answer, and the launcher starts nothing.
 */
function handOverWhenAsked(pipe: Duplex, content: string) {
  pipe.on('error', () => undefined)
  pipe.once('data', () => pipe.end(content))
}

const WRAPPER_TIMEOUT_MS = 2000
const WRAPPERS = /^(bwrap|sh|bash|dash|ash|busybox|npm|npm .*|npx|pnpm|pnpm .*|yarn|yarnpkg)$/

function isWrapper(pid: number): boolean {
  const name = read(() => readFileSync(`/proc/${pid}/comm`, 'utf8'))
  return name === undefined || WRAPPERS.test(name.trim())
}

function whenGone(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    // 'close' comes after the pipes are closed: the last process that could write is gone.
    child.once('close', (code, signalName) => resolve({ code, signal: signalName }))
  })
}

/** All descendants of a process, deepest last. Read anew each time, since programs start others at any moment. */
export function descendantsOf(pid: number): number[] {
  const found: number[] = []
  for (const child of childrenOf(pid)) found.push(child, ...descendantsOf(child))
  return found
}

/** Each thread has children of its own. */
function childrenOf(pid: number): number[] {
  const threads = read(() => readdirSync(`/proc/${pid}/task`)) ?? []
  return threads.flatMap((thread) => {
    const text = read(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')) ?? ''
    return text.split(' ').filter(Boolean).map(Number)
  })
}

/** The other processes of a session, and what they started. One that left it and lost its parent is not found. */
function membersOf(leader: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const members = all.map(Number).filter((pid) => pid !== leader && sessionOf(pid) === leader)
  return members.flatMap((member) => [member, ...descendantsOf(member)])
}

/** The name of a program stands in brackets, and may itself contain brackets and spaces. */
function sessionOf(pid: number): number {
  const [, , , session] =
    (read(() => readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? '').split(') ').at(-1)?.split(' ') ?? []
  return Number(session)
}

/** Undefined when the process is gone. */
function read<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (isGoneError(error)) return undefined
    throw error
  }
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL') {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!isGoneError(error)) throw error
  }
}

const isGoneError = (error: unknown): boolean =>
  ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')
