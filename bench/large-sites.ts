/** Static sites of very many files: what a visit to one costs, and what it costs their neighbour. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { type StaticFile, writeManifest } from '../src/edge/index.ts'
import type { Target } from '../src/edge/routes.ts'
import { startEdge } from '../test/support/edge/edge-process.ts'
import { publish } from '../test/support/edge/publish.ts'
import { type Bench, IS_QUICK, median } from './bench.ts'
import { inTurns, TURNS } from './rounds.ts'
import { temporaryFolder } from './service.ts'

const FILES = 150_000
const FEW_FILES = 100
const PAGE = 'a page '.repeat(100)
const ROUNDS = IS_QUICK ? 1 : 5
const VISITS = IS_QUICK ? 50 : 200
const AT_A_TIME = 4

const NEIGHBOUR = 'neighbour.example'
const SITES = ['one.example', 'two.example']

export const largeSites: Bench = {
  name: 'large-sites',
  what: `static sites of ${FILES} files, asked in turn for another page each time, and a neighbour of theirs`,
  noise: `quiet and busy times in turns, medians of ${ROUNDS} rounds; ${TURNS}`,
  async run() {
    await using folder = await temporaryFolder()
    const edge = await startEdge({
      folder: folder.path,
      cache: { memoryBytes: 0, folder: '', diskBytes: 0 },
    })
    try {
      const hosts: Record<string, Target> = { [NEIGHBOUR]: await siteIn(folder.path, NEIGHBOUR, FEW_FILES) }
      for (const host of SITES) hosts[host] = await siteIn(folder.path, host, FILES)
      await publish(edge, hosts)
      const { port } = edge.address
      const neighbour = await neighbourTimes(port)
      const cost = await costs(folder.path, port, edge.pid() as number)
      return [
        {
          what: `the slowest of ${VISITS} pages of the neighbour`,
          beside: 'when no other site is visited',
          unit: 'ms',
          ours: neighbour.busy,
          peer: neighbour.quiet,
          goal: { of: 'ratio', max: 10 },
        },
        {
          what: 'CPU per page that was not asked for before',
          beside: `a site of ${FEW_FILES} files`,
          unit: 'µs',
          ours: cost.large.cpuMicrosecondsPerRequest,
          peer: cost.small.cpuMicrosecondsPerRequest,
          goal: { of: 'ratio', max: 2 },
        },
      ]
    } finally {
      await edge.stop(1000)
    }
  },
}

/** All paths lead to the same file, since the bench measures how a file is found. */
async function siteIn(top: string, host: string, count: number): Promise<Target> {
  const [folder, variants] = [join(top, host, 'files'), join(top, host, 'edge')]
  await mkdir(folder, { recursive: true })
  await mkdir(variants)
  await writeFile(join(folder, 'page.html'), PAGE)
  const file = { path: '/page.html', size: PAGE.length, digest: 'd'.repeat(64) }
  const files: Record<string, StaticFile> = {}
  for (let n = 0; n < count; n++) files[`/articles/number-${n}/index.html`] = file
  const manifest = await writeManifest(variants, { files, singlePage: false, notFound: null, basePath: '' })
  return { kind: 'static', environment: host, deployment: host, folder, manifest }
}

async function neighbourTimes(port: number): Promise<{ quiet: number; busy: number }> {
  const times = { quiet: [] as number[], busy: [] as number[] }
  for (let round = 0; round < ROUNDS; round++) {
    times.quiet.push(await neighbourTime(port))
    const attack = visitInTurn(port)
    times.busy.push(await neighbourTime(port))
    await attack.stop()
  }
  return { quiet: median(times.quiet), busy: median(times.busy) }
}

async function neighbourTime(port: number): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const taken: number[] = []
  for (let n = 0; n < VISITS; n++) {
    const begin = performance.now()
    await visit(port, agent, NEIGHBOUR, `/articles/number-${n % FEW_FILES}/`)
    taken.push(performance.now() - begin)
  }
  agent.destroy()
  // A stall of the edge is one slow page among many fast ones: an average would hide it.
  return Math.max(...taken)
}

/** Few visitors at a time, since few are enough to cause a stall: the sites in turn, and another page each time. */
function visitInTurn(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME })
  let isStopped = false
  let n = 0
  const visitors = Array.from({ length: AT_A_TIME }, async () => {
    while (!isStopped) {
      n++
      await visit(port, agent, SITES[n % SITES.length] as string, `/articles/number-${(n * 7919) % FILES}/`)
    }
  })
  return {
    async stop() {
      isStopped = true
      await Promise.all(visitors)
      agent.destroy()
    },
  }
}

function visit(port: number, agent: Agent, host: string, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, headers: { host }, agent }, (response) => {
      assert.equal(response.statusCode, 200)
      response.resume().once('end', resolve)
    })
    asked.on('error', reject).end()
  })
}

/** Range requests, whose responses are not kept in memory: every one needs a lookup. */
async function costs(folder: string, port: number, pid: number) {
  const script = join(folder, 'pages.lua')
  await writeFile(
    script,
    `local n, host, count = 0, '${NEIGHBOUR}', ${FEW_FILES}
init = function(args)
  if args[1]:find('large') then host, count = '${SITES[0]}', ${FILES} end
end
request = function()
  n = n + 7919
  return wrk.format('GET', '/articles/number-' .. n % count .. '/', { Host = host, Range = 'bytes=0-' })
end
`,
  )
  const server = { url: `http://127.0.0.1:${port}`, pid }
  return inTurns({ large: server, small: server }, { script })
}
