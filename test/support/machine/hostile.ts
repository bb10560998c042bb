/** Hostile builds and apps, what they must not leave behind, and a neighbouring site that must not be affected. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { resources } from '../../../src/contract/index.ts'
import { idOf, interfacesOf } from '../../../src/engines/network/names.ts'
import { deploy, type Files } from '../service/deploy.ts'
import { createEnvironment } from '../service/environment.ts'
import type { Login, TestService } from '../service/service.ts'
import { TIMEOUT_MS, until } from '../until.ts'

/** A build that runs the given script and writes one page, if it gets that far. */
export const buildOf = (script: string, more: Files = {}): Files => ({
  'package.json': JSON.stringify({ name: 'hostile', scripts: { build: 'node build.js' } }),
  'build.js': `
    const fs = require('node:fs')
    const { spawn, spawnSync } = require('node:child_process')
    fs.mkdirSync('dist', { recursive: true })
    fs.writeFileSync('dist/index.html', 'a page')
    ${script}
  `,
  ...more,
})

/** A server with the given handler; requests that the handler does not answer get `fine`. */
export const appOf = (handler: string, more: Files = {}): Files => ({
  'package.json': JSON.stringify({ name: 'hostile', scripts: { start: 'node server.js' } }),
  'server.js': `
    const fs = require('node:fs')
    const { spawn } = require('node:child_process')
    require('node:http').createServer((request, response) => {
      const path = request.url
      ${handler}
      response.end('fine')
    }).listen(process.env.PORT, process.env.HOST)
  `,
  ...more,
})

/** Reports how each attempt ended: the code of its error, or its result. */
export const TRY = `
  const attempt = (name, act) => {
    let outcome
    try { outcome = act() } catch (error) { outcome = error.code ?? error.message }
    console.log('TRIED ' + JSON.stringify([name, outcome ?? 'done']))
  }
`

/** What attempts of \`TRY\` printed, by name. */
export function triedIn(log: string): Record<string, unknown> {
  return Object.fromEntries([...log.matchAll(/TRIED (\[.*\])$/gm)].map(([, text = '']) => JSON.parse(text)))
}

export type Outcome = {
  environment: resources.Environment
  operation: resources.Operation
  build: resources.Build
  log: string
}

export async function hostileDeploy(
  service: TestService,
  as: Login,
  files: Files,
  known?: resources.Environment,
): Promise<Outcome> {
  const environment = known ?? (await createEnvironment(service, as))
  const operation = await deploy(service, as, environment.name, files)
  const build: resources.Build = (await service.call(`/v1/${operation.metadata.build}`, { as })).json
  const log = (await service.call(`/v1/${operation.metadata.build}/log`, { as })).text
  return { environment, operation, build, log }
}

const folderOf = ({ dataDir }: TestService, { name }: resources.Environment): string =>
  join(dataDir, 'environments', name.split('/').at(-1) ?? '')

/** The user that the environment's programs run as. */
export const userOf = (service: TestService, environment: resources.Environment): number =>
  statSync(join(folderOf(service, environment), 'cache')).uid

/** Waits until nothing is left of an environment's builds. */
export async function assertNothingLeft(service: TestService, environment: resources.Environment, apps = 0) {
  let traces: string[] = []
  // Looked at once at the end: a process of another service that has just begun may have the same user id.
  await until(() => {
    traces = tracesOf(service, environment, apps)
    return traces.length === 0
  }).catch(() => undefined)
  assert.deepEqual(traces, [])
}

function tracesOf(service: TestService, environment: resources.Environment, apps: number): string[] {
  const cgroups = cgroupsOf(service)
  const folders = namesIn(join(folderOf(service, environment), 'work'))
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(service.dataDir))
  return [
    ...(apps > 0 ? [] : processesOf(service, userOf(service, environment))).map((each) => `process ${each}`),
    ...cgroups.filter((cgroup) => cgroup.endsWith('_build')).map((cgroup) => `cgroup ${cgroup}`),
    ...mounts.map((mount) => `mount ${mount}`),
    ...folders.map((folder) => `work folder ${folder}`),
    // Each running app has one of each.
    ...extra('link', linksOf(service), cgroups.filter((cgroup) => cgroup.endsWith('_app')).length),
  ]
}

const extra = (what: string, names: readonly string[], max: number): string[] =>
  names.length > max ? names.map((name) => `${what} ${name}, one of more than ${max}`) : []

/** The cgroups of this service, each once. */
export function cgroupsOf({ dataDir }: TestService): string[] {
  const own = ownFolder(dataDir)
  const found = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => / - cgroup2? /.test(line))
    .flatMap((line) => foldersNamed(own, line.split(' ')[4] ?? '', 4))
  return [...new Set(found.flatMap(namesIn).filter((name) => name.includes('_')))]
}

const ownFolder = (dataDir: string): string =>
  `headland-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`

function foldersNamed(name: string, folder: string, depth: number): string[] {
  if (depth === 0) return []
  // Those of other services on this machine may hold many.
  const mayHold = (entry: { name: string }) => entry.name === name || !entry.name.startsWith('headland-')
  const inner = entriesIn(folder).filter((entry) => entry.isDirectory() && mayHold(entry))
  return inner.flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.name === name ? [path] : foldersNamed(name, path, depth - 1)
  })
}

/** The interfaces of this service's views. */
export function linksOf({ dataDir }: TestService): string[] {
  const { namespaces } = interfacesOf(idOf(realpathSync(dataDir)))
  return namesIn('/sys/class/net').filter((name) => name.startsWith(namespaces))
}

/** Processes of a user, without those of another service on this machine, which may use the same user ids. */
export function processesOf({ dataDir }: TestService, uid: number): string[] {
  return namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const status = textOf(`/proc/${pid}/status`)
      if (!new RegExp(`^Uid:\\t${uid}\\t`, 'm').test(status)) return []
      const cgroups = textOf(`/proc/${pid}/cgroup`)
      const isOfAnother = /\/headland-[^/]+\//.test(cgroups) && !cgroups.includes(ownFolder(dataDir))
      return isOfAnother ? [] : [`${pid} ${/^Name:\t(.*)$/m.exec(status)?.[1]}`]
    })
}

/** The addresses at which this machine reaches the apps of this service. */
export async function addressesOfApps(service: TestService): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ip', ['-j', 'route', 'show'])
  const routes: { dst: string; dev?: string }[] = JSON.parse(stdout)
  const links = new Set(linksOf(service))
  return routes.filter(({ dev = '' }) => links.has(dev)).map(({ dst }) => dst)
}

export type Watch = {
  /** From now on, responses are counted for another part of the test. */
  enter(phase: string): void
  /** The median response time of each part, in milliseconds. */
  medians(): Record<string, number>
  /** Stops the requests. */
  stop(): Promise<{ count: number; failures: string[] }>
}

const EVERY_MS = 100

/** A visitor that repeats one request, with pauses, and records how long each took. */
export function watchSite(service: TestService, url: string): Watch {
  const { hostname, port } = new URL(service.edge)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times = new Map<string, number[]>()
  const failures: string[] = []
  let [phase, isOver] = ['quiet', false]

  const visit = (): Promise<string | undefined> =>
    new Promise((resolve) => {
      get(
        { host: hostname, port, agent, path: '/', headers: { host: new URL(url).host }, timeout: TIMEOUT_MS },
        (response) => {
          response.resume()
          response.once('end', () => resolve(response.statusCode === 200 ? undefined : `status ${response.statusCode}`))
          response.once('error', (error) => resolve(`response: ${error.message}`))
        },
      )
        .once('timeout', () => resolve('no answer'))
        .once('error', (error) => resolve(`request: ${error.message}`))
    })

  async function goOn() {
    while (!isOver) {
      const [began, at] = [performance.now(), phase]
      const failure = await visit()
      if (failure) failures.push(`${at}: ${failure}`)
      const known = times.get(at) ?? []
      known.push(performance.now() - began)
      times.set(at, known)
      await wait(EVERY_MS)
    }
  }
  const going = goOn()

  return {
    enter(next) {
      phase = next
    },
    medians: () => Object.fromEntries([...times].map(([name, all]) => [name, medianOf(all)])),
    async stop() {
      isOver = true
      await going
      agent.destroy()
      return { count: [...times.values()].reduce((sum, all) => sum + all.length, 0), failures }
    },
  }
}

function medianOf(times: readonly number[]): number {
  const middle = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
  return Math.round(middle * 100) / 100
}

const namesIn = (folder: string): string[] => entriesIn(folder).map(({ name }) => name)

function entriesIn(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    return whenGone(error, [])
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return whenGone(error, '')
  }
}

/** Processes and cgroups may disappear between listing and reading. */
function whenGone<T>(error: unknown, instead: T): T {
  if (['ENOENT', 'ESRCH', 'ENODEV', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return instead
  throw error
}
