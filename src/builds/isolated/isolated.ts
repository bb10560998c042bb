/**
 * Runs work whose size a tenant chooses in a process of its own, with limits for heap and time, so that it cannot harm the
 * service. Not in a thread: V8 does not enforce the heap limit of a thread while it parses JSON, and then aborts the whole
 * process.
 */
import { fork } from 'node:child_process'
import type { FileHandle } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { constants, setPriority } from 'node:os'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Problem } from '../../contract/index.ts'
import type { FromIsolated, Tasks, ToIsolated } from './messages.ts'

const PROGRAM = fileURLToPath(new URL(`./process${extname(import.meta.url)}`, import.meta.url))

const LIMITS = { heapMegabytes: 512, ms: 60_000 }

/** The process was killed because it took more time or memory than allowed. */
export class LimitExceeded extends Error {
  readonly what: 'time' | 'memory'

  constructor(what: 'time' | 'memory') {
    super(`it took too much ${what}`)
    this.what = what
  }
}

type Options = {
  /** Functions of the service that the process may call, by name. */
  answers?: Readonly<Record<string, (...values: never[]) => Promise<unknown>>>
  /** A file that it reads by descriptor, so that it needs no path. */
  file?: FileHandle
  limits?: Partial<typeof LIMITS>
}

/** Rejects with the task's own Problem, or with LimitExceeded. */
export async function runIsolated<Name extends keyof Tasks>(
  task: Name,
  input: Tasks[Name]['input'],
  { answers = {}, file, limits }: Options = {},
): Promise<Tasks[Name]['result']> {
  const { heapMegabytes, ms } = { ...LIMITS, ...limits }
  const child = fork(PROGRAM, {
    execArgv: [`--max-old-space-size=${heapMegabytes}`, '--no-warnings'],
    env: compileCacheVariables(),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc', file?.fd ?? 'ignore'],
  })
  const { promise, resolve, reject } = Promise.withResolvers<Tasks[Name]['result']>()
  const timer = setTimeout(() => {
    reject(new LimitExceeded('time'))
    child.kill('SIGKILL')
  }, ms)

  // A message may fail because the process has ended; its `exit` event is handled below.
  const send = (message: ToIsolated) => void (child.connected && child.send(message, () => undefined))

  child.on('spawn', () => {
    if (child.pid !== undefined) lowerPriority(child.pid)
    send({ task, input })
  })
  child.on('message', (message: FromIsolated) => {
    if ('done' in message) resolve(message.done as Tasks[Name]['result'])
    else if ('problem' in message) reject(new Problem(message.problem.reason, message.problem.message, message.problem))
    else if ('fault' in message) reject(new Error(message.fault))
    else void answer(message.ask, message.values)
  })
  child.on('error', reject)
  child.on('exit', (code, signal) =>
    reject(
      signal === 'SIGABRT' || signal === 'SIGKILL'
        ? new LimitExceeded('memory')
        : new Error(`it ended with ${signal ?? code}`),
    ),
  )

  async function answer(name: string, values: unknown[]) {
    try {
      send({ answer: await answers[name]?.(...(values as never[])) })
    } catch (error) {
      reject(error)
      child.kill('SIGKILL')
    }
  }

  try {
    return await promise
  } finally {
    clearTimeout(timer)
    child.kill('SIGKILL')
  }
}

/** With the compile cache of an earlier process the next one starts in a third of the time. */
function compileCacheVariables(): Record<string, string> {
  const folder = getCompileCacheDir()
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder }
}

/** Visitors and the API have priority. */
function lowerPriority(pid: number) {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It has ended already, or its priority may not be changed: neither matters.
  }
}
