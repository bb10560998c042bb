/** A third-party server on a free port of loopback: its start, until it accepts connections, and its end. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Skipped } from './bench.ts'

export type Program = {
  command: string
  args: string[]
  /** The package to install if it is missing. */
  debianPackages: string
  port: number
  env?: NodeJS.ProcessEnv
}

export type Running = AsyncDisposable & { url: string; pid: number }

const TIMEOUT_MS = 30_000
/** Debian's folder for programs that root starts, which is not in every user's PATH. */
const PATH = `${process.env.PATH}:/usr/sbin:/sbin`

export async function startProgram({ command, args, debianPackages, port, env }: Program): Promise<Running> {
  const child = spawn(command, args, { env: { ...process.env, PATH, ...env }, stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2000)
  })
  const url = `http://127.0.0.1:${port}`
  const failed = once(child, 'error').then(([error]) => error as NodeJS.ErrnoException)
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const running = {
    url,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      const timeout = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
      await exited
      clearTimeout(timeout)
    },
  }
  const deadline = performance.now() + TIMEOUT_MS
  for (;;) {
    const answer = await Promise.race([failed, fetch(url).catch(() => undefined)])
    if (answer instanceof Response) return running
    if (answer) throw answer.code === 'ENOENT' ? new Skipped(`apt-get install ${debianPackages}`) : answer
    if (child.exitCode !== null)
      throw new Error(`${command} ended with ${child.exitCode} before it answered: ${output}`)
    if (performance.now() > deadline) {
      await running[Symbol.asyncDispose]()
      throw new Error(`${command} did not answer within ${TIMEOUT_MS} ms: ${output}`)
    }
    await wait(50)
  }
}

/** The output of its version option, on stdout or stderr. */
export async function versionOf(command: string, argument: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(command, [argument], { env: { ...process.env, PATH } })
  return /\d+(?:\.\d+)+/.exec(stdout + stderr)?.[0] ?? ''
}

export async function freePort(): Promise<number> {
  const server = createServer().listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}
