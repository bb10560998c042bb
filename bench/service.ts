/** Processes to measure: the real service as people run it, or any other that prints a `ready` line. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { processesOf } from '../test/support/service/processes.ts'

export const PROJECT = fileURLToPath(new URL('..', import.meta.url))
const HEADLAND = join(PROJECT, 'bin', 'headland')

/** `pid` is the parent of all its processes, `controlPid` the one that answers the API. */
export type Service = AsyncDisposable & { api: string; edge: string; pid: number; controlPid: number }

/** On free ports, its log thrown away unless it is read: at its default level, since writing it is part of what is measured. */
export async function startService(
  dataDir: string,
  settings: Record<string, string> = {},
  onLog?: (line: string) => void,
): Promise<Service> {
  const child = spawn(process.execPath, [HEADLAND, 'serve'], {
    env: { ...environmentOf(dataDir), ...settings },
    stdio: ['ignore', 'pipe', onLog ? 'pipe' : 'ignore'],
  })
  if (onLog && child.stderr) createInterface({ input: child.stderr }).on('line', onLog)
  const { api, edge } = await ready(child)
  const pid = child.pid as number
  const controlPid = processesOf(pid).control as number
  return { api: String(api), edge: String(edge), pid, controlPid, [Symbol.asyncDispose]: () => end(child) }
}

export const environmentOf = (dataDir: string): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  HEADLAND_DATA_DIR: dataDir,
  HEADLAND_LISTEN: '127.0.0.1:0',
  HEADLAND_EDGE_LISTEN: '127.0.0.1:0',
})

/** A user id and password by the operator's command, as the headers of a request. */
export async function logIn(
  dataDir: string,
  { account = 'default', settings = {} }: { account?: string; settings?: Record<string, string> } = {},
): Promise<{ authorization: string }> {
  const args = [HEADLAND, 'credentials', 'create', '--account', account, '--role', 'owner', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...environmentOf(dataDir), ...settings },
  })
  const { userId, password } = JSON.parse(stdout)
  return { authorization: `Basic ${btoa(`${userId}:${password}`)}` }
}

/** Its first line of JSON, parsed as soon as it is printed; npm prints other lines before it. */
export async function ready(child: ChildProcess): Promise<Record<string, unknown>> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    if (line.startsWith('{')) return JSON.parse(line)
  }
  throw new Error(`${child.spawnargs.join(' ')} ended before it was ready`)
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

/** A folder that is deleted at the end of the block. */
export async function temporaryFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'headland-bench-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
