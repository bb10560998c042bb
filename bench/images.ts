/**
 * What a registry and an object store cost: deploys of one example to a service with both, beside one with neither, and switches
 * back to a deployment whose files are gone, with the pull and the start apart.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Scope } from '../test/support/folder.ts'
import { NEEDS_REGISTRY, startRegistry } from '../test/support/images/registry.ts'
import { BUCKET, KEYS, startS3Server } from '../test/support/object-store/s3-server.ts'
import { settingsFor } from '../test/support/object-store/service.ts'
import { filesIn } from '../test/support/service/deploy.ts'
import { zipOf } from '../test/support/zip.ts'
import { type Bench, IS_QUICK, median, type Result, Skipped } from './bench.ts'
import { type Caller, createApp, createEnvironment, deploy, post, read, untilDone } from './client.ts'
import { treeCpuMs } from './cpu.ts'
import { logIn, PROJECT, type Service, startService, temporaryFolder } from './service.ts'

const EXAMPLE = IS_QUICK ? 'express' : 'next'
const ROUNDS = IS_QUICK ? 1 : 5
const GOAL = { of: 'ratio', max: 1.25 } as const

export const images: Bench = {
  name: 'images',
  what: `deploys of the example ${EXAMPLE} with a registry and an object store on this machine, beside the same with neither; switches back`,
  noise: `in turns, the median of ${ROUNDS} deploys each, after a first one that installs packages and pushes the runtime; CPU time by the kernel`,
  async run() {
    if (NEEDS_REGISTRY.skip) throw new Skipped(String(NEEDS_REGISTRY.skip))
    await using scope = createScope()
    const { url } = await startRegistry(scope)
    const server = await startS3Server(scope)
    const store = settingsFor({ ...server, bucket: BUCKET, ...KEYS }, 'bench')
    const files = await filesIn(join(PROJECT, 'examples', EXAMPLE))
    await using without = await startSite({}, files)
    await using stored = await startSite({ HEADLAND_REGISTRY: url, ...store }, files)
    const [firstWithout, firstStored] = [await without.deployNext(), await stored.deployNext()]
    const costs = { without: [] as Cost[], stored: [] as Cost[] }
    for (let round = 0; round < ROUNDS; round++) {
      const turns = [
        async () => costs.without.push(await without.deployNext()),
        async () => costs.stored.push(await stored.deployNext()),
      ]
      // What comes second finds warmer caches of the disk.
      for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn()
    }
    return [
      ...rowsOf('deploy', costs.stored, costs.without),
      ...rowsOf('first deploy', [firstStored], [firstWithout]),
      ...(await switchesBack(stored)),
    ]
  },
}

type Cost = { seconds: number; cpuSeconds: number }

function rowsOf(what: string, ours: readonly Cost[], peer: readonly Cost[]): Result[] {
  const beside = 'with neither'
  const row = (name: string, key: keyof Cost) => ({
    ...{ what: name, unit: 's', beside },
    ...{ ours: median(ours.map((cost) => cost[key])), peer: median(peer.map((cost) => cost[key])) },
  })
  return [{ ...row(what, 'seconds'), goal: GOAL }, row(`CPU of a ${what}`, 'cpuSeconds')]
}

async function switchesBack({ activate, removeFiles, deployments, pulls }: Site): Promise<Result[]> {
  const [first = '', last = ''] = [deployments.at(0), deployments.at(-1)]
  const here: number[] = []
  const starts: number[] = []
  const pulled: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    here.push(await activate(first))
    await activate(last)
    await removeFiles()
    const before = pulls.length
    const total = await activate(first)
    const pull = pulls.slice(before).reduce((sum, { ms }) => sum + ms, 0) / 1000
    pulled.push(pull)
    starts.push(total - pull)
    await activate(last)
  }
  const bytes = Math.max(...pulls.map((pull) => pull.bytes))
  return [
    { what: 'switch back, files here', unit: 's', ours: median(here) },
    { what: 'switch back, files gone: the pull', unit: 's', ours: median(pulled) },
    { what: 'switch back, files gone: the start', unit: 's', ours: median(starts) },
    { what: 'what is pulled', unit: 'MB', ours: bytes / 1e6 },
  ]
}

type Site = Awaited<ReturnType<typeof startSite>>

/** A service of its own with one environment, to which one version after the other is deployed. */
async function startSite(settings: Record<string, string>, files: Awaited<ReturnType<typeof filesIn>>) {
  const folder = await temporaryFolder()
  const pulls: { ms: number; bytes: number }[] = []
  const service = await startService(folder.path, settings, (line) => {
    if (line.includes('an output was got from the registry')) pulls.push(JSON.parse(line))
    else if (line.includes('"err":')) process.stderr.write(`${line}\n`)
  })
  const caller: Caller = { api: service.api, headers: await logIn(folder.path, { settings }) }
  await createApp(caller, 'app')
  const { name } = await createEnvironment(caller, 'app')
  const deployments: string[] = []
  let version = 0

  return {
    pulls,
    deployments,
    async deployNext(): Promise<Cost> {
      version += 1
      const zip = zipOf({ ...files, 'public/version.txt': `version ${version}` })
      const cost = await costOf(service, () => deploy(caller, name, zip))
      deployments.push(String((await read(caller, `/v1/${name}`)).deployment))
      return cost
    },
    async activate(deployment: string): Promise<number> {
      const { seconds } = await costOf(service, async () => {
        const asked = await post(caller, `/v1/${deployment}:activate`, {})
        await untilDone(caller, asked.name)
      })
      // The files of the one before are removed afterwards, and it may be the next that is made live.
      const runs = join(folder.path, 'environments', name.split('/').at(-1) ?? '', 'run')
      while ((await readdir(runs)).length > 1) await wait(50)
      return seconds
    },
    async removeFiles() {
      for (const gone of ['outputs', 'packages']) await rm(join(folder.path, gone), { recursive: true, force: true })
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

async function costOf({ pid }: Service, work: () => Promise<void>): Promise<Cost> {
  const [beganAt, cpuBefore] = [performance.now(), treeCpuMs(pid)]
  await work()
  return { seconds: (performance.now() - beganAt) / 1000, cpuSeconds: (treeCpuMs(pid) - cpuBefore) / 1000 }
}

/** What a test has: functions that are called at its end. */
function createScope(): Scope & AsyncDisposable {
  const ends: (() => unknown)[] = []
  return {
    after: (end) => void ends.unshift(end),
    async [Symbol.asyncDispose]() {
      for (const end of ends) await end()
    },
  }
}
