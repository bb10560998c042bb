/**
 * The command of the operator that changes DNS, for DNS-01: `COMMAND… add NAME VALUE` and `COMMAND… remove NAME VALUE`. It is
 * started without a shell, and its time and the output that is kept are limited.
 */
import { spawn } from 'node:child_process'
import { DnsHookFailed } from '../failure.ts'

export type DnsHook = {
  /** The program by its path, and its first arguments. */
  command: readonly [file: string, ...args: string[]]
  env: Readonly<NodeJS.ProcessEnv>
  timeoutMs: number
  /** Ends it. */
  signal?: AbortSignal | undefined
}

const OUTPUT_LENGTH = 2000
/** What an inherited descriptor of a child that goes on is waited for. */
const OUTPUT_MS = 1000

type Change = { action: 'add' | 'remove'; name: string; value: string }

export async function runDnsHook(
  { command, env, timeoutMs, signal }: DnsHook,
  { action, name, value }: Change,
): Promise<void> {
  const [file, ...args] = command
  const child = spawn(file, [...args, action, name, value], {
    env,
    // A group of its own, so that what it has started ends with it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_LENGTH)
    })
  }
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(`cannot be started: ${error.message}`))
    child.once('exit', (code, signal) => {
      const outcome = code === 0 ? undefined : `ended with ${signal ?? `exit code ${code}`}`
      const late = setTimeout(() => resolve(outcome), OUTPUT_MS)
      child.once('close', () => {
        clearTimeout(late)
        resolve(outcome)
      })
    })
  })
  let isLate = false
  const end = () => {
    if (child.pid !== undefined) kill(child.pid)
  }
  const timer = setTimeout(() => {
    isLate = true
    end()
  }, timeoutMs)
  signal?.addEventListener('abort', end, { once: true })
  const outcome = await ended
  signal?.removeEventListener('abort', end)
  clearTimeout(timer)
  for (const stream of [child.stdout, child.stderr]) stream.destroy()
  if (outcome === undefined) return
  const what = isLate ? `did not end within ${timeoutMs / 1000} seconds` : outcome
  throw new DnsHookFailed(`${file} ${action} ${name}: ${what}${output.trim() ? `: ${printable(output)}` : ''}`)
}

function kill(pid: number) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // It has just ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

const printable = (text: string): string => text.trim().replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
