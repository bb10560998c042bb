/** As many edges on one port as the machine has processors serve as many times the hits of one. */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { zipOf } from '../test/support/zip.ts'
import { type Bench, IS_QUICK, median } from './bench.ts'
import { createApp, createEnvironment, deploy } from './client.ts'
import { commandOf, treeCpuMs, treePids } from './cpu.ts'
import { wrk } from './rounds.ts'
import { logIn, startService, temporaryFolder } from './service.ts'

const ROUNDS = IS_QUICK ? 1 : 5
const SECONDS = IS_QUICK ? 1 : 4
/** On a busy machine it takes some time until each edge has run its code often enough to have all of it compiled. */
const WARM_UP_SECONDS = IS_QUICK ? 1 : 12
const EDGES = Math.max(2, availableParallelism())
/** The kernel spreads connections by their addresses, so that few of them may be spread unevenly. */
const CONNECTIONS = 512

const APP = {
  'package.json': JSON.stringify({ name: 'page', version: '1.0.0', scripts: { start: 'node server.js' } }),
  'server.js': `
    require('node:http').createServer((_, response) => {
      response.setHeader('cache-control', 's-maxage=3600').end('x'.repeat(10240))
    }).listen(process.env.PORT, process.env.HOST)`,
}

export const manyEdges: Bench = {
  name: 'edges',
  what: `hits of 10 KiB by ${EDGES} edges, one for each processor, beside one: what they serve while the busiest of them uses one second of a processor`,
  noise: `CPU time of each edge by the kernel, without that of the client, in turns, medians of ${ROUNDS} rounds after a warm-up`,
  async run() {
    await using one = await startWith(1)
    await using many = await startWith(EDGES)
    const figures = { one: [] as Figures[], many: [] as Figures[] }
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [name, site] of Object.entries({ one, many }) as ['one' | 'many', Site][]) {
        const found = await measure(site, round > 0 ? SECONDS : WARM_UP_SECONDS)
        if (round > 0) figures[name].push(found)
      }
    }
    const middle = (name: 'one' | 'many', figure: keyof Figures) => median(figures[name].map((each) => each[figure]))
    return [
      {
        what: 'hits per CPU second of the busiest edge',
        beside: 'one edge',
        unit: '/s',
        ours: middle('many', 'perBusiest'),
        peer: middle('one', 'perBusiest'),
        goal: { of: 'ratio', min: 0.9 * EDGES },
      },
      {
        what: 'CPU per hit of all edges',
        beside: 'one edge',
        unit: 'µs',
        ours: middle('many', 'cpuMicroseconds'),
        peer: middle('one', 'cpuMicroseconds'),
      },
      {
        what: 'hits, with the client on the same processors',
        beside: 'one edge',
        unit: '/s',
        ours: middle('many', 'perSecond'),
        peer: middle('one', 'perSecond'),
      },
    ]
  },
}

type Figures = { perBusiest: number; cpuMicroseconds: number; perSecond: number }

type Site = { edge: string; host: string; edges: number[] }

async function startWith(edges: number): Promise<AsyncDisposable & Site> {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(await temporaryFolder())
  const dataDir = join(folder.path, 'data')
  const service = stack.use(await startService(dataDir, { HEADLAND_EDGES: String(edges) }))
  const caller = { api: service.api, headers: await logIn(dataDir) }
  await createApp(caller, 'page')
  const { name, url } = await createEnvironment(caller, 'page')
  await deploy(caller, name, zipOf(APP))
  const pids = treePids(service.pid).filter((pid) => commandOf(pid).endsWith('role edge'))
  if (pids.length !== edges) throw new Error(`there are ${pids.length} edges instead of ${edges}`)
  const moved = stack.move()
  const found = { edge: service.edge, host: new URL(url).host, edges: pids }
  return { ...found, [Symbol.asyncDispose]: () => moved.disposeAsync() }
}

async function measure({ edge, host, edges }: Site, seconds: number): Promise<Figures> {
  const before = edges.map(treeCpuMs)
  const { requests, requestsPerSecond } = await wrk(edge, [
    ...['--threads', '1', '--connections', String(CONNECTIONS), '--duration', `${seconds}s`, '--timeout', '10s'],
    ...['--header', `Host: ${host}`, edge],
  ])
  const used = edges.map((pid, at) => treeCpuMs(pid) - (before[at] ?? 0))
  return {
    perBusiest: requests / (Math.max(...used) / 1000),
    cpuMicroseconds: (used.reduce((sum, ms) => sum + ms, 0) * 1000) / requests,
    perSecond: requestsPerSecond,
  }
}
