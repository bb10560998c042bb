/** What HTTPS costs beside nginx with one worker: a hit by HTTP/1.1, a hit by HTTP/2, and a full handshake. */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { promisify } from 'node:util'
import { startEdge } from '../../test/support/edge/edge-process.ts'
import { publish } from '../../test/support/edge/publish.ts'
import { type Bench, IS_QUICK, median, type Result, Skipped } from '../bench.ts'
import { treeCpuMs } from '../cpu.ts'
import { versionOf } from '../program.ts'
import { temporaryFolder } from '../service.ts'
import { startOrigin } from './edge.ts'
import { startNginx } from './nginx.ts'

const HOST = 'localhost'
const PAGE_BYTES = 10 * 1024
const ROUNDS = IS_QUICK ? 1 : 5

export const edgeTls: Bench = {
  name: 'edge-tls',
  what: 'HTTPS beside nginx with one worker: a page of 10 KiB in the cache by HTTP/1.1 and HTTP/2, and full handshakes (ECDSA P-256)',
  noise:
    'CPU time by the kernel for each request, ours and the peer under the same load in turns, medians of five rounds after a warm-up',
  async run(): Promise<Result[]> {
    await using folder = await temporaryFolder()
    const nginxFolder = join(folder.path, 'nginx')
    await mkdir(nginxFolder)
    const { certificateFile, keyFile } = makeCertificate(folder.path)
    await using origin = await startOrigin(PAGE_BYTES)
    const cached = `proxy_pass http://${origin.host}:${origin.port}; proxy_cache objects; proxy_cache_valid 200 1h;`
    await using theirs = await startNginx({
      folder: nginxFolder,
      http: `ssl_certificate ${certificateFile}; ssl_certificate_key ${keyFile}; ssl_protocols TLSv1.2 TLSv1.3;`,
      servers: { cached: `location / { ${cached} }` },
      listens: 'ssl http2',
    })
    const edge = await startEdge({
      folder: folder.path,
      cache: { memoryBytes: 268_435_456, folder: join(folder.path, 'cache'), diskBytes: 0 },
      countsPaths: true,
      certificates: [
        {
          id: 'c',
          names: [HOST],
          chain: await readFile(certificateFile, 'utf8'),
          key: await readFile(keyFile, 'utf8'),
        },
      ],
    })
    try {
      await publish(edge, {
        [HOST]: { kind: 'server', environment: 'e', deployment: 'd', instance: 'i', ...origin },
      })
      const servers: Servers = {
        ours: { port: edge.tlsAddress?.port ?? 0, pid: edge.pid() as number },
        theirs: { port: Number(new URL(theirs.urls.cached).port), pid: theirs.workerPid },
      }
      const beside = `nginx ${await versionOf('nginx', '-v')}`
      const results: Result[] = []
      for (const { what, unit, load, max } of LOADS) {
        const costs = await inTurns(servers, load)
        results.push({ what, beside, unit, ours: costs.ours, peer: costs.theirs, goal: { of: 'ratio', max } })
      }
      await assertHit(servers.ours.port)
      return results
    } finally {
      await edge.stop(1000)
    }
  },
}

type Loaded = { port: number; pid: number }
type Servers = { ours: Loaded; theirs: Loaded }
/** Resolves to the number of requests that were answered. */
type Load = (port: number) => Promise<number>

const REQUESTS = IS_QUICK ? 5_000 : 30_000
const HANDSHAKES = IS_QUICK ? 500 : 2_000

const LOADS: readonly { what: string; unit: string; load: Load; max: number }[] = [
  {
    what: 'CPU per hit by HTTP/1.1 over TLS',
    unit: 'µs',
    load: (port) => h2load(port, ['--h1', '--clients', '64']),
    max: 2,
  },
  {
    what: 'CPU per hit by HTTP/2',
    unit: 'µs',
    load: (port) => h2load(port, ['--clients', '16', '--max-concurrent-streams', '8']),
    max: 3,
  },
  { what: 'CPU per full handshake', unit: 'µs', load: handshakes, max: 1.5 },
]

async function inTurns(servers: Servers, load: Load): Promise<Record<keyof Servers, number>> {
  const costs: Record<keyof Servers, number[]> = { ours: [], theirs: [] }
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of ['ours', 'theirs'] as const) {
      const { port, pid } = servers[name]
      const before = treeCpuMs(pid)
      const requests = await load(port)
      // The first round is a warm-up.
      if (round > 0) costs[name].push(((treeCpuMs(pid) - before) * 1000) / requests)
    }
  }
  return { ours: median(costs.ours), theirs: median(costs.theirs) }
}

async function h2load(port: number, args: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)('h2load', [
    ...['--requests', String(REQUESTS), '--connect-to', `127.0.0.1:${port}`, ...args],
    `https://${HOST}:${port}/`,
  ]).catch(needs('nghttp2-client'))
  const succeeded = Number(/(\d+) succeeded/.exec(stdout)?.[1])
  assert.equal(succeeded, REQUESTS, stdout)
  return succeeded
}

/** New connections, without session tickets. */
async function handshakes(port: number): Promise<number> {
  let left = HANDSHAKES
  async function connectEach() {
    while (left-- > 0) {
      const socket = connectTls({ host: '127.0.0.1', port, servername: HOST, rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: 8 }, connectEach))
  return HANDSHAKES
}

const needs = (debianPackage: string) => (error: NodeJS.ErrnoException) => {
  throw error.code === 'ENOENT' ? new Skipped(`apt-get install ${debianPackage}`) : error
}

/** Checked after the rounds: an edge that asked the origin each time would be slow for another reason. */
async function assertHit(port: number) {
  const session = connect(`https://127.0.0.1:${port}`, { servername: HOST, rejectUnauthorized: false })
  const stream = session.request({ ':authority': `${HOST}:${port}`, ':path': '/' })
  const status = await new Promise<string>((resolve, reject) => {
    stream.on('response', (headers) => resolve(String(headers['cache-status'])))
    stream.on('error', reject)
  })
  session.destroy()
  assert.match(status, /hit/)
}

function makeCertificate(folder: string) {
  const [keyFile, certificateFile] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30'],
      ...['-subj', '/CN=test', '-addext', `subjectAltName=DNS:${HOST}`, '-keyout', keyFile, '-out', certificateFile],
    ],
    { stdio: 'pipe' },
  )
  return { keyFile, certificateFile }
}
