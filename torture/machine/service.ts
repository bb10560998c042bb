/**
 * The service under test: a real process on a small disk of its own, with a clock that can be set, always on the same
 * ports. After a kill by the test it is started again; if it ends by itself, that is recorded as a violation.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Scope, temporaryFolder } from '../../test/support/folder.ts'
import { smallDisk } from '../../test/support/machine/small-disk.ts'
import { type Login, startService, type TestService } from '../../test/support/service/service.ts'
import type { Violation } from '../journal.ts'
import { ON_ONE_MACHINE } from '../plan.ts'
import { isRunning } from '../processes.ts'
import { type CallOptions, type Reply, type System, send } from '../system.ts'
import type { World } from '../world.ts'
import { createMachineFaults } from './faults.ts'
import { brokenFiles, leftWhenQuiet, leftWhenStopped } from './leftovers.ts'

const DISK_MEGABYTES = 400
const MEBIBYTE = 1024 ** 2
const CLOCK_SHIFT = fileURLToPath(new URL('./clock-shift.mjs', import.meta.url))
const MAX_STARTS = 5
/** A build that got an error of a full disk has not ended yet when the disk is free. */
const AFTERMATH_MS = 3000

export async function openMachine(t: Scope, world: World, accounts: readonly string[]): Promise<System> {
  const kept: (() => unknown)[] = []
  const disk = await smallDisk({ after: (end) => void kept.push(end) }, DISK_MEGABYTES)
  const clockFile = join(await temporaryFolder(t), 'clock.json')
  const history: [number, number][] = []
  await writeFile(clockFile, '[]')
  const settings = settingsOf(world, clockFile)
  const violations: Violation[] = []
  let service: TestService
  let logs = ''
  let restarts = 0
  let startedAt = Date.now()
  let isDiskFull = false
  let isExpectedDown = false

  try {
    service = await startService(t, { dataDir: disk.folder, settings })
    settings.HEADLAND_LISTEN = new URL(service.api).host
    settings.HEADLAND_EDGE_LISTEN = new URL(service.edge).host
  } catch (error) {
    for (const end of kept) await end()
    throw error
  }
  const logins = new Map<string, Login>()
  for (const account of accounts) {
    await service.operator('accounts', 'create', account)
    logins.set(account, await service.login('owner', account))
  }
  const { api, edge, dataDir } = service

  const call = (account: string, path: string, options: CallOptions = {}): Promise<Reply> =>
    send(`${api}${path}`, authorization(account), options)

  function authorization(account: string): string {
    const { userId, password } = logins.get(account) as Login
    return `Basic ${btoa(`${userId}:${password}`)}`
  }

  async function start() {
    for (let tries = 1; ; tries++) {
      try {
        startedAt = Date.now()
        service = await startService(t, { dataDir, settings })
        restarts += 1
        return
      } catch (error) {
        if (!isDiskFull && tries >= MAX_STARTS) throw error
        if (!isDiskFull)
          violations.push({ what: `it did not start: ${(error as Error).message}`, about: 'the service' })
        await wait(500)
      }
    }
  }

  /** Only the test stops the service: any other end is a violation. */
  async function guard(signal: AbortSignal) {
    while (!signal.aborted) {
      await wait(200, undefined, { signal }).catch(() => undefined)
      if (isExpectedDown || isRunning(service.pid)) continue
      violations.push({ what: `it ended by itself: ${service.log().slice(-3000)}`, about: 'the service' })
      await restart()
    }
  }

  async function restart() {
    isExpectedDown = true
    logs += service.log()
    await start()
    isExpectedDown = false
  }

  const faultOf = createMachineFaults({
    world,
    dataDir,
    pid: () => service.pid,

    /** SIGKILL, and a start on the same data. */
    async killAndRestart() {
      if (isExpectedDown) return
      isExpectedDown = true
      await service.kill()
      await restart()
    },

    async fillDisk() {
      isDiskFull = true
      await disk.fill()
    },
    async freeDisk() {
      await disk.free()
      isDiskFull = false
    },

    /** From now on the service's clock is off by so much more. */
    async moveClock(byMs: number) {
      history.push([Date.now(), (history.at(-1)?.[1] ?? 0) + byMs])
      await writeFile(clockFile, JSON.stringify(history))
    },
  })

  return {
    api: () => api,
    call,
    authorization,
    edges: () => [edge],
    nextEdge: () => 0,
    regionOf: () => 'EU-W',
    isQuiet: () => false,
    pace: 1,
    plan: ON_ONE_MACHINE,
    aftermathMs: AFTERMATH_MS,
    faultOf,
    guard,
    violations,
    restarts: () => restarts,
    settle: async () => undefined,
    leftWhenQuiet: ({ live }) => leftWhenQuiet({ dataDir, startedAt }, live),

    async stop() {
      isExpectedDown = true
      const exitCode = await service.stop()
      await wait(100)
      const left = await leftWhenStopped(dataDir, [api, edge])
      return [
        ...left.map((what) => ({ what: `left over when it has stopped: ${what}`, about: 'the machine' })),
        ...brokenFiles(dataDir).map((what) => ({ what, about: 'the data folder' })),
        ...(exitCode === 0 ? [] : [{ what: `it stopped with exit code ${exitCode}`, about: 'the service' }]),
      ]
    },

    log: () => logs + service.log(),
    keep: async () => `${dataDir} (a mount)`,

    /** Unmounts the disk, which deletes all data. */
    async forget() {
      for (const end of kept) await end()
    },
  }
}

function settingsOf(world: World, clockFile: string): Record<string, string> {
  return {
    HEADLAND_ALLOWED_NETWORKS: world.allowed,
    HEADLAND_DISK_RESERVE: '0',
    HEADLAND_CONCURRENCY: '2',
    HEADLAND_CACHE_MEMORY: String(8 * MEBIBYTE),
    HEADLAND_CACHE_DISK: String(32 * MEBIBYTE),
    HEADLAND_INSTALL_TIMEOUT: '30',
    HEADLAND_BUILD_TIMEOUT: '20',
    HEADLAND_START_TIMEOUT: '30',
    HEADLAND_WEBHOOK_GUESSES: '100000',
    NODE_OPTIONS: `--import=${CLOCK_SHIFT}`,
    TORTURE_CLOCK_FILE: clockFile,
  }
}
