/** Upload to live of the Next.js example with empty caches, and waking it, beside the same by hand. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Bench, median } from './bench.ts'
import { createApp, createEnvironment, deploy, read, visit } from './client.ts'
import { logIn, PROJECT, startService, temporaryFolder } from './service.ts'

const ROUNDS = 3
const WAKE_ROUNDS = 5
const run = promisify(execFile)

export const nextByHand: Bench = {
  name: 'next-by-hand',
  what: 'the Next.js example from zip to first answer, and from sleep to answer, beside the same by hand',
  async run() {
    await using folder = await temporaryFolder()
    const zip = join(folder.path, 'next.zip')
    await run('zip', ['-qr', zip, '.', '-x', 'node_modules/*', '.next/*', 'expect.json'], {
      cwd: join(PROJECT, 'examples', 'next'),
    })
    const dataDir = join(folder.path, 'data')
    await using service = await startService(dataDir, { HEADLAND_IDLE_TIMEOUT: '2' })
    const caller = { api: service.api, headers: await logIn(dataDir) }
    await createApp(caller, 'shop')

    const live = { ours: [] as number[], peer: [] as number[] }
    let site = { name: '', url: '' }
    for (let round = 0; round < ROUNDS; round++) {
      live.peer.push(await byHand(zip, join(folder.path, `hand-${round}`)))
      // A new environment has no caches.
      site = await createEnvironment(caller, 'shop')
      const startTime = performance.now()
      await deploy(caller, site.name, await readFile(zip))
      await visit(service.edge, site.url)
      live.ours.push((performance.now() - startTime) / 1000)
    }

    const start = { ours: [] as number[], peer: [] as number[] }
    const { deployment } = await read(caller, `/v1/${site.name}`)
    for (let round = 0; round < WAKE_ROUNDS; round++) {
      await using app = await startApp(join(folder.path, `hand-${round % ROUNDS}`))
      start.peer.push(app.seconds)
      for (let tries = 0; (await stateOf(String(deployment))) !== 'ASLEEP'; tries++) {
        assert.ok(tries < 300, 'it does not fall asleep')
        await wait(100)
      }
      start.ours.push(await visit(service.edge, site.url))
    }
    return [
      {
        what: 'upload to live, empty caches',
        unit: 's',
        ours: median(live.ours),
        peer: median(live.peer),
        goal: { of: 'ratio', most: 1.1 },
      },
      {
        what: 'waking a sleeping app',
        unit: 's',
        ours: median(start.ours),
        peer: median(start.peer),
        goal: { of: 'ratio', most: 1.2 },
      },
    ]

    async function stateOf(name: string): Promise<unknown> {
      const { instance } = await read(caller, `/v1/${name}`)
      return (instance as { state?: string } | undefined)?.state
    }
  },
}

/** Unzip, install, build, start, first 200: with Node and npm as the service has them, and an empty package cache. */
async function byHand(zip: string, folder: string): Promise<number> {
  await mkdir(folder)
  const env = handEnvironment(folder)
  const startTime = performance.now()
  await run('unzip', ['-q', zip, '-d', folder])
  await run('npm', ['ci'], { cwd: folder, env })
  await run('npm', ['run', 'build'], { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 })
  await using _app = await startApp(folder)
  return (performance.now() - startTime) / 1000
}

async function startApp(folder: string): Promise<AsyncDisposable & { seconds: number }> {
  const port = await freePort()
  const startTime = performance.now()
  const env = { ...handEnvironment(folder), PORT: String(port), NODE_ENV: 'production' }
  const app: ChildProcess = spawn(process.execPath, ['node_modules/next/dist/bin/next', 'start', '-H', '127.0.0.1'], {
    cwd: folder,
    env,
    stdio: 'ignore',
  })
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

const handEnvironment = (folder: string): NodeJS.ProcessEnv => ({
  PATH: `${join(PROJECT, 'node_modules', '.bin')}:${process.env.PATH}`,
  HOME: folder,
  CI: '1',
  NODE_USE_SYSTEM_CA: '1',
  NEXT_TELEMETRY_DISABLED: '1',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
})

async function freePort(): Promise<number> {
  const server = createServer().listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}
