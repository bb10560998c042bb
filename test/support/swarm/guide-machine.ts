/** A machine of the page about clusters, with files and commands of its own: /etc and /var/lib/headland are not those of others. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from '../folder.ts'
import { WITH_US } from '../machine/docker-engine.ts'
import type { JoinedMachine } from '../machine/swarm.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))
const BETWEEN = '----- next command -----'

const FILES = `
  mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/etc,workdir=$1/work" /etc
  mount -t tmpfs tmpfs /var/lib
  mkdir /var/lib/headland
  mount --bind "$1/lib" /var/lib/headland
`

export type GuideMachine = JoinedMachine & {
  /** Runs commands one after the other in one shell, and resolves to what each of them printed. */
  run(commands: readonly string[]): Promise<string[]>
  /** Writes the settings of a role, as the page has them. */
  configure(role: string, settings: object): Promise<void>
  /** As the unit of a role does it: `systemctl start`, `reload` and `stop`. */
  start(role: string): Promise<void>
  reload(role: string): Promise<void>
  stop(role: string): Promise<void>
  /** What its roles wrote to their journals. */
  journal(): string
}

/** The scope has to end things in reverse. */
export async function guideMachine(t: Scope, machine: JoinedMachine): Promise<GuideMachine> {
  const folder = await temporaryFolder(t)
  for (const name of ['etc', 'work', 'lib', 'bin']) mkdirSync(join(folder, name))
  const command = `#!/bin/sh\nexec ${process.execPath} ${HEADLAND} "$@"\n`
  await writeFile(join(folder, 'bin/headland'), command, { mode: 0o755 })
  const inside = ['nsenter', '--target', String(machine.pid), '--mount', '--net', '--uts', '--ipc', '--pid']
  // Each machine has the socket of its engine at another place.
  const sockets = { HEADLAND_DOCKER_SOCKET: machine.socketPath }
  const running = new Map<string, ChildProcess>()
  let log = ''

  async function shell(script: string, ...args: string[]): Promise<string> {
    const { PATH, DOCKER_HOST, DOCKER_CONFIG, HOME } = machine.environment
    const env = { DOCKER_HOST, DOCKER_CONFIG, HOME, PATH: `${join(folder, 'bin')}:${PATH}`, ...sockets }
    const [file = '', ...first] = [...inside, 'bash', '--norc', '-euo', 'pipefail', '-c', script, 'bash', ...args]
    return (await promisify(execFile)(file, first, { env, maxBuffer: 2 ** 24 })).stdout
  }

  const etc = (role: string) => `/etc/headland/${role}`
  await shell(FILES, folder)
  return {
    ...machine,
    async run(commands) {
      const output = await shell(commands.join(`\necho '${BETWEEN}'\n`))
      return output.split(`${BETWEEN}\n`).map((text) => text.trim())
    },
    async configure(role, settings) {
      const place = join(folder, 'etc/headland', role)
      await mkdir(place, { recursive: true })
      await writeFile(join(place, 'headland.json'), JSON.stringify(settings), { mode: 0o600 })
    },
    async start(role) {
      const serve = [process.execPath, '--max-semi-space-size=2', '--', `${HEADLAND}.js`, 'serve']
      const script = ['sh', '-euc', 'cd "$1"; shift; exec "$@"', 'sh', etc(role), ...serve]
      const child = spawn('setpriv', [...WITH_US, ...inside, ...script], {
        env: { PATH: process.env.PATH, ...sockets },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      running.set(role, child)
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        log += text
      })
      const ended = once(child, 'exit').then(() => {
        throw new Error(`${role} of ${machine.hostname} ended:\n${log}`)
      })
      await Promise.race([once(child.stdout as Readable, 'data'), ended])
      ended.catch(() => undefined)
    },
    reload: async (role) => void (await shell('cd "$1"; headland reload', etc(role))),
    async stop(role) {
      const child = running.get(role)
      running.delete(role)
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      // The service is the child of the process that entered the machine.
      process.kill(Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim()), 'SIGTERM')
      await exited
    },
    journal: () => log,
  }
}
