/** The machine's own programs for its network: `ip`, `nft`, `nsenter`, `unshare`. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { unlessGone } from '../../base/index.ts'

/** One of these programs is missing, or fails. */
export class NetworkError extends Error {}

/** Another service uses this service's names already. */
export class TakenError extends NetworkError {}

const NSENTER = '/usr/bin/nsenter'
export const COMMAND_ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
/** Far more than a busy machine needs: a program that takes longer hangs. */
const TIMEOUT_MS = 60_000
const MAX_OUTPUT_BYTES = 64 * 1024 ** 2

/** Returns its stdout. `input` is written to its stdin. */
export async function run(file: string, args: readonly string[], input = ''): Promise<string> {
  const options = { env: COMMAND_ENVIRONMENT, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES }
  const running = promisify(execFile)(file, args, options)
  // A program that ends before it has read all reports its error by its exit code.
  running.child.stdin?.on('error', () => undefined)
  running.child.stdin?.end(input)
  try {
    return (await running).stdout
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string }
    throw new NetworkError(code === 'ENOENT' ? `there is no ${file}` : `${file} fails: ${(stderr || message).trim()}`)
  }
}

/** Throws if one is missing. To start each of them would take a tenth of the start of the agent. */
export function mustHave(...files: readonly string[]) {
  const folders = COMMAND_ENVIRONMENT.PATH.split(':')
  for (const file of files)
    if (!folders.some((folder) => isExecutable(join(folder, file)))) throw new NetworkError(`there is no ${file}`)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Lines for `ip -batch`, all of them or up to the first that fails. */
export const runIp = (lines: readonly string[]): Promise<string> => run('ip', ['-batch', '-'], `${lines.join('\n')}\n`)

/** An empty network namespace. It lives as long as this descriptor or a process in it, so it can never be left behind. */
export type Netns = { enter(command: readonly string[]): string[]; close(): void }

/** The `ip` process that runs these lines is started in the new namespace. */
export async function createNetns(lines: readonly string[]): Promise<Netns> {
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
  // Any output shows that the namespace exists.
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

/** Resolves with the error, or undefined. */
function whenGone(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.once('error', ({ message }) => resolve(message))
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `it ended with ${signal ?? code}`))
  })
}

/** A process that failed is gone, and its file with it. */
const openOrNothing = (path: string): number | undefined => unlessGone(() => openSync(path, 'r'))
