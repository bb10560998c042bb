/** Debian's `docker-registry`, a real registry for images, on the loopback and with a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type Scope, temporaryFolder } from '../folder.ts'

const UNPACKED = fileURLToPath(
  new URL('../../../node_modules/.cache/image-registry/usr/bin/docker-registry', import.meta.url),
)
const PROGRAM = [UNPACKED, '/usr/bin/docker-registry'].find((path) => existsSync(path))

/** The option of a test that needs it. */
export const NEEDS_REGISTRY = {
  skip: PROGRAM ? false : 'needs Debian\'s package "docker-registry": node test/prepare.ts as root unpacks it',
}

export const LOGIN = { user: 'headland', password: 'correct horse' }
/** bcrypt, which is all that it reads. */
const HTPASSWD = `${LOGIN.user}:$2y$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2\n`

type Options = {
  hasPassword?: boolean
  mayDelete?: boolean
  /** Another registry, whose address and whose files it has too. */
  of?: ImageRegistry
  /** A command that starts it elsewhere, such as in another network. */
  inside?: readonly string[]
  /** Where it listens, if not on the loopback. */
  host?: string
}

export type ImageRegistry = {
  url: string
  /** Ends it; its folder and its port stay. */
  stop(): Promise<void>
  /** Starts it again, at the same address. */
  start(): Promise<void>
  /** What it wrote. */
  log(): string
  /** Where it stores everything. */
  folder: string
}

export async function startRegistry(t: Scope, options: Options = {}) {
  const { hasPassword = false, mayDelete = true, of, inside = [], host = '127.0.0.1' } = options
  const folder = await temporaryFolder(t)
  const config = join(folder, 'config.json')
  const lines: string[] = []
  const data = of?.folder ?? join(folder, 'data')
  let port = of ? Number(new URL(of.url).port) : 0
  let running: ChildProcess | undefined

  async function start() {
    // YAML is a superset of JSON.
    await writeFile(
      config,
      JSON.stringify({
        version: 0.1,
        log: { level: 'info', accesslog: { disabled: false } },
        storage: { filesystem: { rootdirectory: data }, delete: { enabled: mayDelete } },
        http: { addr: `${host}:${port}`, secret: 'the same after a restart' },
        ...(hasPassword ? { auth: { htpasswd: { realm: 'test', path: join(folder, 'htpasswd') } } } : {}),
      }),
    )
    const [file = '', ...args] = [...inside, PROGRAM ?? '', 'serve', config]
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH } })
    running = child
    createInterface({ input: child.stdout as Readable }).on('line', (line) => lines.push(line))
    const listening = new Promise<number>((resolve) => {
      createInterface({ input: child.stderr as Readable }).on('line', (line) => {
        lines.push(line)
        const found = /listening on [\d.]+:(\d+)/.exec(line)?.[1]
        if (found) resolve(Number(found))
      })
    })
    const exited = once(child, 'exit').then(() => {
      throw new Error(`docker-registry ended before it listened:\n${lines.join('\n')}`)
    })
    port = await Promise.race([listening, exited])
    exited.catch(() => undefined)
  }

  async function stop() {
    if (!running || running.exitCode !== null || running.signalCode !== null) return
    const exited = once(running, 'exit')
    running.kill('SIGKILL')
    await exited
  }

  if (hasPassword) await writeFile(join(folder, 'htpasswd'), HTPASSWD)
  t.after(stop)
  await start()
  const registry: ImageRegistry = {
    url: `http://${host}:${port}`,
    folder: data,
    stop,
    start,
    log: () => lines.join('\n'),
  }
  return registry
}
