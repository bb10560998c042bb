/** Debian's PostgreSQL 15, started for the tests: a cluster of its own in a temporary folder, on the loopback. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, chmod, chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../certificates/pebble.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { until } from '../until.ts'
import { keepCluster, putPreparedCluster } from './prepared.ts'

const PROGRAMS = '/usr/lib/postgresql/15/bin'

export const HAS_POSTGRES = existsSync(join(PROGRAMS, 'postgres'))

/** The name of a prepared cluster without a database of ours. */
const EMPTY = 'postgresql-15'

/** The option of a test that needs it. */
export const NEEDS_POSTGRES = {
  skip: HAS_POSTGRES ? false : 'needs Debian\'s package "postgresql-15": apt-get install postgresql-15',
}

export type Postgres = {
  /** The address of a database that was there from the beginning. */
  url: string
  /** Creates another database, empty or as a copy, and resolves to its address. */
  createDatabase(copied?: string): Promise<string>
  /** Of the server's first process. */
  pid(): number
  /** Stops it as `pg_ctl stop -m fast` does: sessions are ended. */
  stop(): Promise<void>
  /** Starts it again, on the same port. */
  start(): Promise<void>
  /** Ends every process of it at once, as a machine that loses power. */
  kill(): Promise<void>
  /** A replica takes writes from now on. */
  promote(): Promise<void>
  /** Stops every process of it in the middle of what it does, as a machine that hangs. */
  freeze(): void
  thaw(): void
  /** Runs psql, and resolves to what it prints. */
  psql(statement: string, url?: string): Promise<string>
  /** Everything that a database has, as pg_dump writes it. */
  dump(url: string): Promise<string>
  host: string
  port: number
}

type Options = {
  /** Whether commits reach the disk: needed only where the server is killed, or speed is measured. */
  isDurable?: boolean
  /** By a Unix socket instead of the loopback. */
  isSocket?: boolean
  /** Where it listens, if not on the loopback. */
  host?: string
  settings?: Record<string, string>
  /** It is a copy of this one, and follows it. */
  replicaOf?: Pick<Postgres, 'host' | 'port'>
  /** PEM of a chain and its key: sessions may be encrypted. */
  tls?: { cert: string; key: string }
  /** It begins as a copy of a cluster with this name, which the first test that needs it fills. */
  prepared?: { name: string; fill(server: Pick<Postgres, 'psql'> & { urlOf(database: string): string }): Promise<void> }
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

const PASSWORD = 'correct-horse'

/** PostgreSQL refuses to run as root. Debian's package makes this user; where it is not root, the user of the tests will do. */
function owner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

export async function startPostgres(
  t: Scope,
  { isDurable = false, isSocket = false, host = '127.0.0.1', settings = {}, replicaOf, tls, prepared }: Options = {},
): Promise<Postgres> {
  const user = owner()
  // Removed after the server has ended, in whichever order the scope runs its ends.
  const ends: (() => unknown)[] = []
  t.after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  const top = await temporaryFolder({ after: (end) => void ends.push(end) })
  await chmod(top, 0o755)
  const folder = join(top, 'cluster')
  await mkdir(folder, { mode: 0o700 })
  if (user) await chown(folder, user.uid, user.gid)
  const environment = { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', PGPASSWORD: PASSWORD }
  const options = { ...user, env: environment, cwd: '/' }
  const run = (program: string, args: string[]) =>
    promisify(execFile)(join(PROGRAMS, program), args, { ...options, maxBuffer: MAX_OUTPUT_BYTES })
  let isFilled = false
  if (replicaOf) {
    const of = ['-h', replicaOf.host, '-p', String(replicaOf.port), '-U', 'headland']
    await run('pg_basebackup', ['-D', folder, ...of, '--write-recovery-conf', '--checkpoint=fast', '--no-sync'])
  } else {
    const given = ['-U', 'headland', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
    isFilled = prepared !== undefined && (await putPreparedCluster(folder, prepared.name))
    if (!isFilled && !(await putPreparedCluster(folder, EMPTY))) {
      await run('initdb', ['-D', folder, ...given])
      await keepCluster(folder, EMPTY, user)
    }
    const clients = ['all', 'replication'].map((database) => `host ${database} headland ${host}/24 trust\n`).join('')
    await appendFile(join(folder, 'pg_hba.conf'), clients)
  }
  for (const [name, text] of tls ? [['server.crt', tls.cert] as const, ['server.key', tls.key] as const] : []) {
    await writeFile(join(folder, name), text, { mode: 0o600 })
    if (user) await chown(join(folder, name), user.uid, user.gid)
  }
  const port = await freePort()
  const all = {
    listen_addresses: host,
    port: String(port),
    unix_socket_directories: isSocket ? folder : '',
    shared_buffers: '32MB',
    max_connections: '60',
    ...(tls ? { ssl: 'on' } : {}),
    ...(isDurable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...settings,
  }
  let server: ChildProcess | undefined
  let log = ''

  async function start() {
    const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = spawn(join(PROGRAMS, 'postgres'), ['-D', folder, ...flags], {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    server = child
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      log += text
    })
    await until(async () => {
      assert.equal(child.exitCode, null, log)
      return run('pg_isready', ['-q', '-h', host, '-p', String(port)]).then(
        () => true,
        () => false,
      )
    }, 'PostgreSQL answers')
  }

  async function end(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL') {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    if (signal === 'SIGKILL') signalAll(signal)
    else server.kill(signal)
    await exited
  }

  const pid = () => server?.pid ?? 0
  /** The processes of the server are children of the first one. */
  const signalAll = (signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL') => {
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid())], { encoding: 'utf8' })
    for (const one of [pid(), ...children.split(/\s+/).filter(Boolean).map(Number)]) {
      try {
        process.kill(one, signal)
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH')
      }
    }
  }
  const urlOf = (database: string) =>
    `postgres://headland:${PASSWORD}@${host}:${port}/${database}${isSocket ? `?host=${folder}` : ''}`
  const psql = async (statement: string, url = urlOf('postgres')) =>
    (await run('psql', ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-c', statement, url])).stdout.trim()

  // A test file that throws before its tests runs no ends.
  process.once('exit', () => server?.kill('SIGQUIT'))
  let databases = 0
  await start()
  if (prepared && !isFilled) {
    await prepared.fill({ psql, urlOf })
    await end('SIGINT')
    await keepCluster(folder, prepared.name, user)
    await start()
  }
  ends.push(async () => {
    if (server?.exitCode === null && server.signalCode === null) signalAll('SIGCONT')
    await end('SIGQUIT')
  })
  return {
    url: urlOf('postgres'),
    async createDatabase(copied = '/template0') {
      const name = `headland_${++databases}`
      await psql(`CREATE DATABASE ${name} TEMPLATE ${copied.split('?')[0]?.split('/').at(-1)} STRATEGY file_copy`)
      return urlOf(name)
    },
    pid,
    stop: () => end('SIGINT'),
    kill: () => end('SIGKILL'),
    promote: async () => void (await run('pg_ctl', ['promote', '-D', folder, '--wait'])),
    start,
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    psql,
    dump: async (url) => (await run('pg_dump', [url])).stdout,
    host,
    port,
  }
}
