/** Leftovers on the machine that belong to no live environment: while the service is idle, and after it has stopped. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { idOf as networkIdOf } from '../../src/engines/network/names.ts'
import { cgroupsOf, linksOf } from '../../test/support/machine/hostile.ts'
import { tracesOf } from '../../test/support/machine/network.ts'
import type { TestService } from '../../test/support/service/service.ts'
import type { Inspected } from '../inspect.ts'
import { idOf } from '../journal.ts'
import { allOf, groupOf } from '../processes.ts'

/** Requests of a retired app have half a minute to end. */
const TIMEOUT_MS = 45_000

/** Polls until nothing is left, or until the timeout. */
export async function untilNothing(
  look: () => Promise<string[]> | string[],
  timeoutMs = TIMEOUT_MS,
): Promise<string[]> {
  const until = performance.now() + timeoutMs
  for (;;) {
    const left = await look()
    if (left.length === 0 || performance.now() > until) return left
    await wait(500)
  }
}

/** `startedAt`: when the current process was started, by the machine's clock. */
type Quiet = { dataDir: string; startedAt: number }

export const leftWhenQuiet = (machine: Quiet, live: Inspected['live']): Promise<string[]> =>
  untilNothing(() => leftOnDisk(machine, live))

/** Programs and files of jobs and apps, at this moment. */
export function leftOnDisk({ dataDir, startedAt }: Quiet, live: Inspected['live']): string[] {
  const of = { dataDir } as TestService
  const cgroups = cgroupsIn(of)
  const apps = cgroups.filter((cgroup) => cgroup.endsWith('_app'))
  const servers = [...live.values()].filter(({ isServer }) => isServer).length
  const environments = new Map([...live].map(([name, { deployment }]) => [idOf(name), deployment]))
  const folder = (...path: string[]) => join(dataDir, ...path)
  return [
    ...cgroups.filter((cgroup) => !cgroup.endsWith('_app')).map((cgroup) => `cgroup ${cgroup}`),
    ...(apps.length > servers ? [`${apps.length} groups of apps, with ${servers} servers live: ${apps}`] : []),
    ...(linksOf(of).length > apps.length ? [`${linksOf(of).length} links for ${apps.length} apps`] : []),
    ...mountsIn(dataDir).map((mount) => `mount ${mount}`),
    // An upload that a killed process was receiving is swept an hour later.
    ...namesIn(folder('blobs', 'aside'))
      .filter((name) => statSync(folder('blobs', 'aside', name)).mtimeMs > startedAt)
      .map((name) => `draft of an upload ${name}`),
    ...namesIn(folder('environments')).flatMap((id) =>
      environments.has(id)
        ? [
            ...namesIn(folder('environments', id, 'work')).map((name) => `work folder ${id} ${name}`),
            ...namesIn(folder('environments', id, 'run'))
              .filter((name) => name !== environments.get(id))
              .map((name) => `folder of a retired app ${id} ${name}`),
          ]
        : [`folder of an environment that is gone ${id}`],
    ),
  ]
}

export const leftWhenStopped = (dataDir: string, addresses: readonly string[]): Promise<string[]> =>
  untilNothing(async () => {
    const of = { dataDir } as TestService
    const ports = await Promise.all(addresses.map(async (url) => ((await isFree(url)) ? [] : [`port of ${url}`])))
    return [
      ...cgroupsIn(of).map((cgroup) => `cgroup ${cgroup}`),
      ...linksOf(of).map((link) => `link ${link}`),
      ...(await tracesOf(networkIdOf(realpathSync(dataDir)))).map((trace) => `network ${trace}`),
      ...mountsIn(dataDir).map((mount) => `mount ${mount}`),
      ...allOf(dataDir, groupOf(dataDir)).map((found) => `process ${found}`),
      ...ports.flat(),
    ]
  })

/** The database, page by page, and every archive against its digest. */
export function brokenFiles(dataDir: string): string[] {
  const database = new DatabaseSync(join(dataDir, 'headland.db'))
  const found = database
    .prepare('PRAGMA integrity_check')
    .all()
    .map((row) => String(row.integrity_check))
  database.close()
  const blobs = readdirSync(join(dataDir, 'blobs'), { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && /^[0-9a-f]{64}$/.test(entry.name),
  )
  return [
    ...found.filter((text) => text !== 'ok').map((text) => `database: ${text}`),
    ...blobs
      .filter(({ parentPath, name }) => digestOf(join(parentPath, name)) !== name)
      .map(({ name }) => `archive ${name} has other content`),
  ]
}

const digestOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/** The cgroup of a job is named after the process that made it; the kernel's own files are beside it. */
const cgroupsIn = (of: TestService): string[] => cgroupsOf(of).filter((name) => /^\d+_\d+_\d+_/.test(name))

const mountsIn = (dataDir: string): string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(`${dataDir}/`))

const namesIn = (folder: string): string[] => (statSync(folder, { throwIfNoEntry: false }) ? readdirSync(folder) : [])

function isFree(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(Number(port), hostname, () => server.close(() => resolve(true)))
  })
}
