/** A started program with everything it starts, as one thing that can be stopped. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Exit, Job, Output, Process } from './engine.ts'
import { listeningPorts } from './listening-ports.ts'

/** Run by Node in front of every program: see there. */
export const LAUNCHER = fileURLToPath(new URL('./launch.mjs', import.meta.url))

type Spawn = { file: string; args: readonly string[]; cwd?: string }

/** Starts the command and hands `job`'s argv, environment and user to the launcher through descriptor 3. */
export function startProcess({ file, args, cwd }: Spawn, job: Job, onOutput: Output): Process {
  const child = spawn(file, args, {
    // Nothing of the service's own environment, and nothing of the tenant's either: it would change bubblewrap itself.
    env: {},
    ...(cwd ? { cwd } : {}),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  child.stdout?.on('data', (chunk) => onOutput('stdout', chunk))
  child.stderr?.on('data', (chunk) => onOutput('stderr', chunk))
  const exited = whenGone(child)
  // A program that was never started has no id, and one that is gone may have left its id to somebody else.
  let isOver = child.pid === undefined
  const end = () => {
    isOver = true
  }
  exited.then(end, end)
  // There are no pipes when the service itself has too many files open.
  const instructions = child.stdio?.[3] as NodeJS.WritableStream | undefined
  // A program that dies before it has read them is told by its exit.
  instructions?.on('error', () => undefined)
  instructions?.end(JSON.stringify({ argv: job.argv, environment: job.environment, user: job.user }))
  const pid = child.pid ?? 0

  return {
    pid,
    exited,
    listeningPorts: () => (isOver ? [] : listeningPorts([pid, ...descendantsOf(pid)])),
    async stop(graceMs) {
      if (isOver) return exited
      if (graceMs > 0) {
        // A shell or a package manager that dies at once would take its server with it, in the middle of a request. So
        // they are asked only when their children did not do.
        const tree = descendantsOf(pid)
        const servers = tree.filter((descendant) => !isWrapper(descendant))
        for (const server of servers) signal(server, 'SIGTERM')
        const firstMs = servers.length > 0 ? Math.min(graceMs / 4, WRAPPER_PATIENCE_MS) : 0
        if (await isWithin(exited, firstMs)) return exited
        for (const descendant of descendantsOf(pid)) signal(descendant, 'SIGTERM')
        if (await isWithin(exited, graceMs - firstMs)) return exited
      }
      if (isOver) return exited
      // The monitor's death takes the namespace's first process with it, and that everything inside.
      for (const descendant of [...descendantsOf(pid), pid]) signal(descendant, 'SIGKILL')
      return exited
    },
  }
}

const WRAPPER_PATIENCE_MS = 2000
const WRAPPERS = /^(bwrap|sh|bash|dash|ash|busybox|npm|npm .*|npx|pnpm|yarn|yarnpkg)$/

function isWrapper(pid: number): boolean {
  try {
    return WRAPPERS.test(readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
  } catch (error) {
    if (isGoneError(error)) return true
    throw error
  }
}

async function isWithin(event: Promise<unknown>, ms: number): Promise<boolean> {
  const patience = new AbortController()
  const isHere = await Promise.race([
    event.then(() => true),
    wait(ms, false, { signal: patience.signal }).catch(() => false),
  ])
  patience.abort()
  return isHere
}

function whenGone(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    // 'close' comes after the pipes are closed: the last one who could write is gone.
    child.once('close', (code, signalName) => resolve({ code, signal: signalName }))
  })
}

/** Everything below a process, deepest last. Asked again each time: programs start others as they please. */
export function descendantsOf(pid: number): number[] {
  const found: number[] = []
  for (const child of childrenOf(pid)) found.push(child, ...descendantsOf(child))
  return found
}

function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return text.split(' ').filter(Boolean).map(Number)
  } catch (error) {
    if (isGoneError(error)) return []
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
