/**
 * What a file of 100 MB costs, as a file of a static deployment and as a stored response, beside nginx, which has the kernel send
 * it, and beside the least that Node does: one buffer that is read and written again and again.
 */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeManifest } from '../../src/edge/index.ts'
import type { Target } from '../../src/edge/routes.ts'
import { startEdge } from '../../test/support/edge/edge-process.ts'
import { publish } from '../../test/support/edge/publish.ts'
import { type Bench, IS_QUICK, median, type Result } from '../bench.ts'
import { memoryOf, treeCpuMs } from '../cpu.ts'
import { temporaryFolder } from '../service.ts'
import { download, stall } from './download.ts'
import { startFloor, startOrigin } from './edge.ts'
import { startNginx } from './nginx.ts'

const BYTES = 100_000_000
const AT_A_TIME = 4
const ROUNDS = IS_QUICK ? 1 : 7
const STALLED = 50
const HOST = 'files.example'
const NAME = 'large.bin'

/** Something that sends the file: `pid` is the process that does. */
type Sender = { url: string; pid: number; host?: string }

export const edgeLargeFile: Bench = {
  name: 'edge-large-file',
  what: `a file of 100 MB by ${AT_A_TIME} connections, of a static deployment and from the cache, beside nginx with sendfile`,
  noise: `CPU time by the kernel for each file, of all in turns, medians of ${ROUNDS} rounds after a warm-up`,
  async run() {
    await using stack = new AsyncDisposableStack()
    const folder = stack.use(await temporaryFolder()).path
    const site = join(folder, 'site')
    await mkdir(site)
    await writeFile(join(site, NAME), Buffer.alloc(BYTES, 'bytes of a film, say.\n'))
    const origin = stack.use(await startOrigin(BYTES))
    const nginxFolder = join(folder, 'nginx')
    await mkdir(nginxFolder)
    const nginx = stack.use(
      await startNginx({
        folder: nginxFolder,
        http: 'sendfile on; tcp_nopush on;',
        servers: {
          file: `location / { root ${site}; }`,
          stored: `location / { proxy_pass http://${origin.host}:${origin.port}; proxy_cache objects; proxy_max_temp_file_size 1024m; }`,
        },
      }),
    )
    const edge = stack.use(await startEdgeWith(folder, site, origin))
    const floor = stack.use(await startFloor('file', join(site, NAME)))
    const senders = {
      file: { ...edge, host: HOST },
      stored: edge,
      nginxFile: { url: nginx.urls.file, pid: nginx.workerPid },
      nginxStored: { url: nginx.urls.stored, pid: nginx.workerPid },
      floor,
    } satisfies Record<string, Sender>
    const costs = await costsOf(senders)
    const answer = await fetch(`${edge.url}/${NAME}`, { method: 'HEAD' })
    assert.match(answer.headers.get('cache-status') ?? '', /hit/, 'the file is in our cache')
    return [...inResults(costs), await memoryWhenStalled(senders)]
  },
}

type Costs = Record<'file' | 'stored' | 'nginxFile' | 'nginxStored' | 'floor', number>

async function costsOf(senders: Record<keyof Costs, Sender>): Promise<Costs> {
  const found = new Map<string, number[]>()
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, sender] of Object.entries(senders)) {
      const before = treeCpuMs(sender.pid)
      const all = Array.from({ length: round === 0 ? 1 : AT_A_TIME }, () => download(sender, `/${NAME}`))
      for (const bytes of await Promise.all(all)) assert.equal(bytes, BYTES)
      // The first is a warm-up, in which the caches fetch and store.
      if (round > 0) found.set(name, [...(found.get(name) ?? []), (treeCpuMs(sender.pid) - before) / AT_A_TIME])
    }
  }
  const middle = (name: keyof Costs) => median(found.get(name) ?? [])
  return {
    file: middle('file'),
    stored: middle('stored'),
    nginxFile: middle('nginxFile'),
    nginxStored: middle('nginxStored'),
    floor: middle('floor'),
  }
}

function inResults({ file, stored, nginxFile, nginxStored, floor }: Costs): Result[] {
  const unit = 'ms'
  return [
    {
      what: 'CPU for a file of a deployment',
      beside: 'nginx',
      unit,
      ours: file,
      peer: nginxFile,
      goal: { of: 'ratio', max: 1.2 },
    },
    { what: 'CPU for a file of a deployment', beside: 'the least that Node does', unit, ours: file, peer: floor },
    {
      what: 'CPU for a stored response',
      beside: 'nginx',
      unit,
      ours: stored,
      peer: nginxStored,
      goal: { of: 'ratio', max: 1.2 },
    },
    { what: 'CPU for a stored response', beside: 'the least that Node does', unit, ours: stored, peer: floor },
    { what: 'CPU for a file, by the least that Node does', beside: 'nginx', unit, ours: floor, peer: nginxFile },
  ]
}

/** Clients that read nothing: what was read for them is all that they cost. */
async function memoryWhenStalled({ file }: { file: Sender }): Promise<Result> {
  const before = memoryOf(file.pid).rssAnon
  await using _ = await stall(file, `/${NAME}`, STALLED)
  return {
    what: `memory for each of ${STALLED} clients that stop to read`,
    unit: 'MB',
    ours: (memoryOf(file.pid).rssAnon - before) / STALLED,
    goal: { of: 'ours', max: 0.5 },
  }
}

async function startEdgeWith(folder: string, site: string, origin: { host: string; port: number }) {
  const variants = join(folder, 'variants')
  await mkdir(variants)
  const files = { [`/${NAME}`]: { path: `/${NAME}`, size: BYTES, digest: 'd'.repeat(64) } }
  const manifest = await writeManifest(variants, { files, singlePage: false, notFound: null, basePath: '' })
  const edge = await startEdge({
    folder,
    cache: { memoryBytes: 268_435_456, folder: join(folder, 'cache'), diskBytes: 2_147_483_648 },
    countsPaths: true,
    recordsRequests: true,
  })
  const hosts: Record<string, Target> = {
    [HOST]: { kind: 'static', environment: 'e1', deployment: 'd1', folder: site, manifest },
    '127.0.0.1': { kind: 'server', environment: 'e0', deployment: 'd0', instance: 'i0', ...origin },
  }
  await publish(edge, hosts)
  return {
    url: `http://127.0.0.1:${edge.address.port}`,
    pid: edge.pid() as number,
    [Symbol.asyncDispose]: () => edge.stop(1000),
  }
}
