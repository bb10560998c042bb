/** The machine's own programs for its network: `ip`, `nft`, `nsenter`, `unshare`. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { promisify } from 'node:util'

/** One of them is not there, or does not do what it is asked for. */
export class NetworkError extends Error {}

/** What a service calls its own is another's already. */
export class TakenError extends NetworkError {}

const NSENTER = '/usr/bin/nsenter'
export const COMMAND_ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
/** Far beyond what a busy machine needs: one that takes longer hangs. */
const TIMEOUT_MS = 60_000
const MAX_OUTPUT_BYTES = 64 * 1024 ** 2

/** What it prints. `input` is what it reads. */
export async function run(file: string, args: readonly string[], input = ''): Promise<string> {
  const options = { env: COMMAND_ENVIRONMENT, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES }
  const running = promisify(execFile)(file, args, options)
  // One that ends before it has read all says so by its exit.
  running.child.stdin?.on('error', () => undefined)
  running.child.stdin?.end(input)
  try {
    return (await running).stdout
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string }
    throw new NetworkError(code === 'ENOENT' ? `there is no ${file}` : `${file} fails: ${(stderr || message).trim()}`)
  }
}

/** Lines for `ip -batch`, all of them or up to the first that fails. */
export const runIp = (lines: readonly string[]): Promise<string> => run('ip', ['-batch', '-'], `${lines.join('\n')}\n`)

/** A network that nobody is in yet. It lives for as long as this or a process in it does, so nothing of it can be left. */
export type Namespace = { enter(command: readonly string[]): string[]; close(): void }

/** Made by the very program that furnishes it. */
export async function makeNamespace(lines: readonly string[]): Promise<Namespace> {
  const child = spawn('unshare', ['--net', '--', 'ip', '-batch', '-'], {
    env: COMMAND_ENVIRONMENT,
    timeout: TIMEOUT_MS,
  })
  child.stdin.on('error', () => undefined)
  let complaint = ''
  child.stderr.on('data', (chunk) => {
    complaint += chunk
  })
  const exited = whenGone(child)
  // Anything that is printed: when it comes, the namespace is there.
  child.stdin.write('link show lo\n')
  await Promise.race([new Promise((resolve) => child.stdout.once('data', resolve)), exited])
  const descriptor = openOrNothing(`/proc/${child.pid}/ns/net`)
  child.stdin.end(`${lines.join('\n')}\n`)
  const failure = await exited
  if (failure !== undefined || descriptor === undefined) {
    if (descriptor !== undefined) closeSync(descriptor)
    throw new NetworkError(`a network namespace could not be made: ${complaint.trim() || failure}`)
  }
  return {
    enter: (command) => [NSENTER, `--net=/proc/${process.pid}/fd/${descriptor}`, '--', ...command],
    close: () => closeSync(descriptor),
  }
}

/** Resolves with what went wrong. */
function whenGone(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.once('error', ({ message }) => resolve(message))
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `it ended with ${signal ?? code}`))
  })
}

/** A process that failed is gone. */
function openOrNothing(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
