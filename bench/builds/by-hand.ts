/** What a person would do without the service, with Node and npm as the service has them. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Caller, read } from '../client.ts'
import { freePort } from '../program.ts'
import { PROJECT } from '../service.ts'

export const run = promisify(execFile)

/** An example as a user uploads it. */
export async function zipExample(name: string, zip: string) {
  await run('zip', ['-qr', zip, '.', '-x', 'node_modules/*', 'expect.json'], { cwd: join(PROJECT, 'examples', name) })
}

/** Writes the lockfile of a project that has none, with the addresses of packages, as npm does by default. */
export async function lockProject(folder: string) {
  const env = { ...handEnvironment(folder), npm_config_omit_lockfile_registry_resolved: 'false' }
  await run('npm', ['install', '--package-lock-only'], { cwd: folder, env, maxBuffer: MAX_OUTPUT })
  await rm(join(folder, '.npm'), { recursive: true, force: true })
}

/** How long the newest build of an environment installed. */
export async function installSeconds(caller: Caller, environment: string): Promise<number> {
  const { builds } = (await read(caller, `/v1/${environment}/builds`)) as {
    builds: { durations: Record<string, number> }[]
  }
  return builds[0]?.durations.INSTALLING ?? Number.NaN
}

/** Unzip, install with an empty package cache, build, and start until the first 200, if it is a server. In seconds. */
export async function byHand(zip: string, folder: string, start?: readonly string[]): Promise<number> {
  await mkdir(folder)
  const env = handEnvironment(folder)
  const startTime = performance.now()
  await run('unzip', ['-q', zip, '-d', folder])
  await run('npm', ['ci'], { cwd: folder, env, maxBuffer: MAX_OUTPUT })
  await run('npm', ['run', 'build'], { cwd: folder, env, maxBuffer: MAX_OUTPUT })
  if (start) await (await startApp(folder, start))[Symbol.asyncDispose]()
  return (performance.now() - startTime) / 1000
}

const MAX_OUTPUT = 64 * 1024 * 1024

export const NEXT_START = ['node_modules/next/dist/bin/next', 'start', '-H', '127.0.0.1']

/** A program for Node, until it answers with 200. */
export async function startApp(
  folder: string,
  args: readonly string[],
): Promise<AsyncDisposable & { seconds: number }> {
  const port = await freePort()
  const startTime = performance.now()
  const env = { ...handEnvironment(folder), PORT: String(port), HOST: '127.0.0.1', NODE_ENV: 'production' }
  const app: ChildProcess = spawn(process.execPath, args, { cwd: folder, env, stdio: 'ignore' })
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
    if (answer?.status === 200) break
    assert.equal(app.exitCode, null, 'the app ended before it answered')
    await wait(5)
  }
  const seconds = (performance.now() - startTime) / 1000
  return {
    seconds,
    async [Symbol.asyncDispose]() {
      const exited = once(app, 'exit')
      app.kill('SIGKILL')
      await exited
    },
  }
}

export const handEnvironment = (folder: string): NodeJS.ProcessEnv => ({
  PATH: `${join(PROJECT, 'node_modules', '.bin')}:${process.env.PATH}`,
  HOME: folder,
  CI: '1',
  NODE_USE_SYSTEM_CA: '1',
  NEXT_TELEMETRY_DISABLED: '1',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
})
