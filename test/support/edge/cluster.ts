/**
 * Several control processes on one PostgreSQL, and edges that follow one of them over TCP, each in a process of its own. Between
 * each edge and each control process is a way that can be cut.
 */
import { mkdir } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLog, parseDatabaseAddress, processName, systemClock } from '../../../src/base/index.ts'
import { createCaller, type Frame, joinToken, listenToPeers, PROTOCOL } from '../../../src/channel/index.ts'
import type { EdgeMethodsForAgent, EdgeSettings, EnvironmentRoutes } from '../../../src/edge/index.ts'
import { FIRST_SOCKET } from '../../../src/processes/child.ts'
import { openSocket } from '../../../src/processes/sockets.ts'
import { supervise } from '../../../src/processes/supervised.ts'
import { MIGRATIONS, migrate } from '../../../src/storage/index.ts'
import { openPostgres } from '../../../src/storage/sql/postgres/postgres.ts'
import { startTcpProxy } from '../channel/tcp-proxy.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import type { Postgres } from '../postgres/server.ts'
import { until } from '../until.ts'
import type { ControlReady, ControlSettings } from './control-program.ts'
import { ask, HOST } from './edge.ts'

const programAt = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const MIB = 1024 * 1024
const KEY = 'the key of a test'
const clock = systemClock
const log = createLog('silent')

type Options = { controls: number; edges: number; leaseMs: number; appPort: number }

export async function startCluster(t: Scope, postgres: Postgres, { controls, edges, leaseMs, appPort }: Options) {
  const folder = await temporaryFolder(t)
  const databaseUrl = await postgres.createDatabase(await migratedOn(postgres))
  const agentSocket = join(folder, 'agent.sock')
  await startAgent(t, agentSocket, appPort)
  const started = await Promise.all(
    Array.from({ length: controls }, (_, at) =>
      startControl(t, { databaseUrl, leaseMs, path: join(folder, `control-${at}.sock`) }),
    ),
  )
  const nodes: Awaited<ReturnType<typeof startNode>>[] = []
  for (let at = 0; at < edges; at++)
    nodes.push(
      await startNode(t, { name: `edge-${at}`, folder: join(folder, `edge-${at}`), agentSocket, controls: started }),
    )
  return { databaseUrl, controls: started, edges: nodes }
}

/** Of each server, a migrated database, of which the others are copies. */
const migrated = new WeakMap<Postgres, Promise<string>>()

function migratedOn(postgres: Postgres): Promise<string> {
  const made = migrated.get(postgres) ?? migratedDatabase(postgres)
  migrated.set(postgres, made)
  return made
}

async function migratedDatabase(postgres: Postgres): Promise<string> {
  const url = await postgres.createDatabase()
  const sql = await openPostgres(parseDatabaseAddress(url))
  await migrate(sql, MIGRATIONS, clock.now())
  await sql.close()
  return url
}

const ROUTES: EnvironmentRoutes[] = [
  { environment: 'e1', hosts: { [HOST]: { kind: 'server', environment: 'e1', deployment: 'd1' } } },
]

/** Says where the app of the only deployment is. */
async function startAgent(t: Scope, address: string, port: number) {
  const server = await listenToPeers<Frame, Frame>({
    address,
    greeting: { protocol: PROTOCOL, role: 'agent', process: processName(), version: 'test' },
    onPeer(peer) {
      const instances = [{ instance: 'i1', host: '127.0.0.1', port }]
      const methods = { wake: () => undefined, activity: () => undefined, load: () => undefined }
      createCaller<EdgeMethodsForAgent>(peer, methods).notify('setInstances', {
        reports: { d1: { state: 'running', instances } },
        isWhole: true,
      })
    },
    onRefused: (error) => log.error({ err: error }, 'an edge was refused'),
  })
  t.after(() => server.close())
}

type ControlParts = Pick<ControlSettings, 'databaseUrl' | 'leaseMs' | 'path'>

async function startControl(t: Scope, parts: ControlParts) {
  let ready: ControlReady | undefined
  const control = await supervise<ControlReady>({
    ...{ clock, log, role: 'control' },
    command: () => [process.execPath, programAt('./control-program.ts')],
    // Started again, it listens at the same port.
    begin: (): ControlSettings => ({ ...parts, key: KEY, port: ready?.port ?? 0, routes: ROUTES }),
    onRestart: (next) => {
      ready = next
    },
  })
  t.after(() => control.stop(2000))
  ready = control.ready
  const current = () => ready as ControlReady
  return {
    port: () => current().port,
    pid: () => control.pid() as number,
    /** Resolves when it was acknowledged; rejects if it was not. */
    purge: () => call(current().api, 'POST'),
    /** The names of the edges that follow it. */
    edges: async (): Promise<string[]> => JSON.parse(await call(current().api, 'GET')),
    kill: () => process.kill(control.pid() as number, 'SIGKILL'),
    /** Resolves when it was started again after it was killed. */
    back: (killed: number) => until(() => ready !== undefined && ready.pid !== killed),
  }
}

const agent = new Agent({ keepAlive: true })

function call(port: number, method: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, method, agent }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (more) => {
        text += more
      })
      response.on('error', reject)
      response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(text))))
    })
    asked.on('error', reject).end()
  })
}

type Control = Awaited<ReturnType<typeof startControl>>
type NodeParts = { name: string; folder: string; agentSocket: string; controls: readonly Control[] }

async function startNode(t: Scope, { name, folder, agentSocket, controls }: NodeParts) {
  await mkdir(folder)
  const ways = await Promise.all(controls.map((control) => startTcpProxy(t, { port: control.port() })))
  const token = joinToken(KEY, { role: 'edge', name })
  const socket = await openSocket({ host: '127.0.0.1', port: 0 })
  t.after(() => socket.handle.close())
  const settings: Omit<EdgeSettings, 'name'> = {
    version: 'test',
    listen: { fd: FIRST_SOCKET },
    routesFile: join(folder, 'routes.log'),
    certificatesFile: join(folder, 'certificates.json'),
    trustedProxies: [],
    rewriteHosts: [],
    countsPaths: false,
    recordsRequests: false,
    cache: { memoryBytes: 16 * MIB, folder: join(folder, 'cache'), diskBytes: 16 * MIB },
    controls: ways.map(({ port }) => ({ host: '127.0.0.1', port, token })),
    instances: { addresses: [agentSocket], isElsewhere: false },
  }
  const edge = await supervise<null>({
    ...{ clock, log, role: 'edge' },
    command: () => [process.execPath, programAt('./edge-program.ts')],
    sockets: () => [socket],
    begin: () => ({ ...settings, name: '' }),
  })
  const pid = () => edge.pid() as number
  let isStopped = false
  t.after(async () => {
    if (isStopped) return
    process.kill(pid(), 'SIGCONT')
    await edge.stop(0)
  })
  const { port } = socket.address
  const isFollowing = async (control: number): Promise<boolean> =>
    ((await controls[control]?.edges()) ?? []).some((process) => process.startsWith(`${name}: `))
  return {
    name,
    pid,
    get: () => ask(port),
    /** Whether a page was answered from what it has stored. */
    isHit: async () => /hit/.test(String((await ask(port)).headers['cache-status'])),
    freeze: () => process.kill(pid(), 'SIGSTOP'),
    thaw: () => process.kill(pid(), 'SIGCONT'),
    kill: () => process.kill(pid(), 'SIGKILL'),
    /** Resolves when it was started again. */
    back: (killed: number) => until(() => ![undefined, killed].includes(edge.pid())),
    /** As it is stopped with its service, or replaced by another one. */
    async stop() {
      isStopped = true
      await edge.stop(2000)
    },
    /** All control processes are out of reach, without a word. */
    cut() {
      for (const way of ways) way.cut()
    },
    mend() {
      for (const way of ways) way.mend()
    },
    /** Resolves when it follows this one of the control processes. */
    async follow(control: number) {
      const others = ways.filter((_, at) => at !== control)
      for (const way of others) way.shut()
      await until(() => isFollowing(control), `${name} follows control process ${control}`)
      for (const way of others) way.open()
    },
    /** It can reach no other one. */
    stay(control: number) {
      for (const [at, way] of ways.entries()) if (at !== control) way.shut()
    },
    isFollowing,
  }
}

export type Cluster = Awaited<ReturnType<typeof startCluster>>
