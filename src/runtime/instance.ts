/** One running process of a deployment: started on a free port, and trusted once it answers. */
import { lstat, mkdir } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { randomToken, removeTree } from '../base/index.ts'
import {
  checkInner,
  checkTenant,
  type Engine,
  heapWithin,
  type Job,
  type Limits,
  type Mount,
  type Networks,
  type Process,
} from '../engines/index.ts'
import type { LineLog } from '../storage/index.ts'
import { untilItAnswers } from './health.ts'
import { type Hooks, NO_HOOKS, openHooks } from './hooks.ts'
import { giveBackPort, takePort } from './ports.ts'

export type InstanceSpec = {
  deployment: string
  /** The build whose output it is. */
  build: string
  /** Whose it is. */
  owner: { account: string; environment: string }
  /** The output of the build, which the app sees as one read-only folder: the uppermost first. */
  layers: readonly string[]
  /** Where the folders are that the app may write to. */
  runFolder: string
  argv: readonly string[]
  /** Where it is started, in the output. */
  cwd: string
  /** Folders of commands that come before those of the toolchain. */
  binaries: readonly string[]
  writable: readonly string[]
  variables: Readonly<Record<string, string>>
  user: Job['user']
  /** The name that visitors will ask for: some apps refuse others. */
  hostHeader: string
  /** Node and what else it needs to run; fetched first, if that must be. */
  openToolchain(): Promise<Tools>
  log: LineLog
  limits: Limits
  /** Its process is in another state now. */
  onState?(): void
  /** What was revalidated in its environment, as the files that are loaded ahead of it read it. Asked at each start. */
  expiries?(): Promise<string>
  /** What it had written was removed, so that it begins as the build left it. */
  onReset?(): Promise<void>
}

type Tools = {
  node: string
  mounts: readonly Mount[]
  path: string
  environment: Readonly<Record<string, string>>
}

export type Instance = { id: string; host: string; port: number; process: Process }

const APP = '/app'
const HOST = '127.0.0.1'

export async function startInstance(
  { engine, networks }: { engine: Engine; networks: Networks | undefined },
  spec: InstanceSpec,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Instance> {
  check(spec)
  const tools = await spec.openToolchain()
  const hooks = await hooksOf(spec, tools, engine)
  const seen = await seenBy(spec, [...tools.mounts, ...hooks.mounts])
  const place = await openPlace(networks)
  const process = await startAt(place, seen, environmentOf(spec, tools, hooks, place), engine, spec)
  const { host, port } = place
  try {
    await untilItAnswers({ process, host, port, hostHeader: spec.hostHeader, deadlineMs, signal })
  } catch (error) {
    await process.stop(0)
    throw error
  }
  return { id: randomToken(), host, port, process }
}

/** What is started, as whom and where comes out of the database, and is not believed: before anything is made for it. */
function check({ user, cwd, argv: [program = ''], writable }: InstanceSpec) {
  checkTenant(user)
  checkInner(cwd, 'the folder to start in')
  if (program.includes('/')) checkInner(program, 'the program to start')
  outermost(writable)
}

/** Where an app listens, and where that is reached from out here. */
type Place = { host: string; listen: string; port: number; network: Job['network']; leave(): Promise<void> }

/** In a network of its own the app has all ports to itself, and nobody but the service reaches it. */
async function openPlace(networks: Networks | undefined): Promise<Place> {
  if (networks) {
    const view = await networks.open('app', { callsService: true, port: OWN_PORT })
    return { host: view.address, listen: view.listen, port: OWN_PORT, network: view, leave: () => view.close() }
  }
  const port = await takePort()
  return { host: HOST, listen: HOST, port, network: undefined, leave: async () => giveBackPort(port) }
}

const OWN_PORT = 8080

/** The place is the process's own until it ends, however it ends. */
async function startAt(
  place: Place,
  seen: Pick<Job, 'mounts' | 'overlays'>,
  environment: Job['environment'],
  engine: Engine,
  spec: InstanceSpec,
): Promise<Process> {
  const job: Job = {
    argv: spec.argv,
    cwd: join(APP, spec.cwd),
    environment,
    ...seen,
    name: 'app',
    limits: spec.limits,
    ...(place.network ? { network: place.network } : {}),
    user: spec.user,
  }
  try {
    await spec.log.prepare()
    const process = await engine.start(job, (stream, chunk) => spec.log.write(stream, '', chunk))
    const exited = process.exited
      .then(async (exit) => {
        // What it wrote would end its successor, too: that one begins as the build left it.
        if (exit.excess?.includes('disk')) {
          await removeTree(join(spec.runFolder, 'own'))
          await spec.onReset?.()
        }
        return exit
      })
      .finally(() => {
        spec.log.rest()
        return place.leave()
      })
    // Whoever asks is told; nobody has to.
    exited.catch(() => undefined)
    return { ...process, exited }
  } catch (error) {
    spec.log.rest()
    await place.leave()
    throw error
  }
}

/** They are for the better: an app runs without them too. */
async function hooksOf(
  { variables, runFolder, log, expiries }: InstanceSpec,
  { node }: Tools,
  { isIsolating }: Engine,
): Promise<Hooks> {
  try {
    return await openHooks({ node, variables, runFolder, isIsolating, ...(expiries ? { expiries } : {}) })
  } catch (error) {
    log.write('stderr', '', Buffer.from(`headland: started without what it loads for the edge's cache: ${error}\n`))
    return NO_HOOKS
  }
}

/** Every server listens to one of these names. */
function environmentOf(
  { variables, binaries, limits }: InstanceSpec,
  tools: Tools,
  hooks: Hooks,
  { port, listen }: Place,
): Record<string, string> {
  const { NODE_OPTIONS } = { ...heapWithin(limits), ...variables }
  return {
    ...variables,
    NODE_OPTIONS: [NODE_OPTIONS, ...hooks.options].join(' '),
    PATH: [...binaries, tools.path].join(':'),
    HOME: '/tmp',
    TMPDIR: '/tmp',
    NODE_ENV: 'production',
    ...tools.environment,
    NEXT_TELEMETRY_DISABLED: '1',
    PORT: String(port),
    HOST: listen,
    HOSTNAME: listen,
    NITRO_HOST: listen,
  }
}

/** Its output as one folder, and over it the folders that it writes to, which begin as the build left them. */
async function seenBy(
  { layers, runFolder, writable }: InstanceSpec,
  more: readonly Mount[],
): Promise<Pick<Job, 'mounts' | 'overlays'>> {
  const [only = '', ...below] = layers
  const at = join(runFolder, 'all')
  if (below.length > 0) await mkdir(at, { recursive: true, mode: 0o755 })
  const own = join(runFolder, 'own')
  const inner = outermost(writable).map((path) => ({ path, from: join(own, path) }))
  for (const { path } of inner) await makeParents(own, path)
  const tree: Mount = { from: below.length > 0 ? at : only, to: APP, isWritable: false, inner }
  return { mounts: [tree, ...more], overlays: below.length > 0 ? [{ at, layers }] : [] }
}

/** Of two that lie in one another, the outer: what is in it is written by the app, and nothing of ours is looked for there. */
export function outermost(writable: readonly string[]): string[] {
  const paths = [...new Set(writable.map((path) => checkInner(normalize(path), 'a writable folder')))]
  if (paths.includes('.')) throw new Error('an app may not write to all of its own output')
  return paths.filter((path) => !paths.some((other) => other !== path && path.startsWith(`${other}/`)))
}

/** The service's own folders down to one that the app writes to, so that none of them is ever a link. */
export async function makeParents(own: string, path: string) {
  const steps = [own, ...dirname(path).split('/')]
  for (let count = 1; count <= steps.length; count++) {
    const folder = join(...steps.slice(0, count))
    await mkdir(folder, { recursive: count === 1, mode: 0o755 }).catch(isThere)
    if (!(await lstat(folder)).isDirectory()) throw new Error(`${folder} is not a folder`)
  }
}

function isThere(error: NodeJS.ErrnoException) {
  if (error.code !== 'EEXIST') throw error
}
