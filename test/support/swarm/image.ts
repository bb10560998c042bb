/** The image of a small app, made by the service's own code, in a registry that the nodes of a swarm reach. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/index.ts'
import { openImages } from '../../../src/images/index.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { startRegistry } from '../images/registry.ts'
import { inReverse } from '../machine/docker-engine.ts'
import type { Swarm } from '../machine/swarm.ts'
import { migratedSql } from '../sql.ts'

const SETTINGS = { registryUser: '', registryPassword: undefined, registryPlainHttp: false, registryTimeout: 60 }
const NODE = '/headland/lib/node/bin/node'

/** What it does is chosen by its variables and by the path that is asked for. */
const SERVER = `
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createSocket } from 'node:dgram'
import { connect } from 'node:net'

if (process.env.SAYS) process.stderr.write(process.env.SAYS.replace('%id', crypto.randomUUID()))
if (process.env.CRASH) process.exit(Number(process.env.CRASH))

function attempt(work) {
  try { return String(work() ?? 'done') } catch (error) { return error.code ?? String(error) }
}

const kept = []
const pages = {
  '/': () => 'hello from ' + (process.env.NAME ?? 'an app'),
  '/variables': () => JSON.stringify(process.env),
  '/inside': () => JSON.stringify({
    uid: process.getuid(),
    first: readFileSync('/proc/1/cmdline', 'utf8'),
    status: readFileSync('/proc/self/status', 'utf8'),
    root: attempt(() => writeFileSync('/app/new', 'x')),
    tmp: attempt(() => writeFileSync('/tmp/new', 'x')),
    tmpFull: attempt(() => writeFileSync('/tmp/large', Buffer.alloc(64 * 1024 * 1024))),
    cache: attempt(() => readFileSync('/app/cache/old', 'utf8')),
    cacheWrite: attempt(() => writeFileSync('/app/cache/new', 'x')),
    cacheFull: attempt(() => writeFileSync('/app/cache/large', Buffer.alloc(64 * 1024 * 1024))),
  }),
  '/memory': () => {
    for (;;) kept.push(Buffer.alloc(16 * 1024 * 1024, 1))
  },
}

async function reach(query) {
  const [, host, port] = /^\\[?(.*?)\\]?:(\\d+)$/.exec(query)
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), timeout: 2000 })
    const end = (how) => { socket.destroy(); resolve(how) }
    socket.once('connect', () => end('connected')).once('timeout', () => end('timeout')).once('error', ({ code }) => end(code))
  })
}

/** By UDP, as for names: whether something comes back. */
async function askByUdp(query) {
  const [host, port] = query.split(':')
  const socket = createSocket('udp4')
  return new Promise((resolve) => {
    const end = (how) => { socket.close(); resolve(how) }
    const timer = setTimeout(() => end('timeout'), 2000)
    socket.once('message', () => { clearTimeout(timer); end('answered') })
    socket.once('error', ({ code }) => { clearTimeout(timer); end(code) })
    socket.connect(Number(port), host, () => socket.send('?'))
  })
}

/** One connection that stays open: whether it still carries data is asked later. */
let held
async function hold(query) {
  const [host, port] = query.split(':')
  held = connect({ host, port: Number(port), timeout: 2000 })
  held.on('error', () => undefined)
  return new Promise((resolve) => held.once('connect', () => resolve('connected')).once('close', () => resolve('closed')))
}
async function stillHeld() {
  if (held.destroyed) return 'closed'
  return new Promise((resolve) => {
    const end = (how) => { clearTimeout(timer); resolve(how) }
    const timer = setTimeout(() => end('timeout'), 2000)
    held.once('data', () => end('answered')).once('close', () => end('closed'))
    held.write('?')
  })
}

createServer(async (request, response) => {
  const [path, query = ''] = request.url.split('?')
  if (path === '/slow') {
    await new Promise((resolve) => setTimeout(resolve, Number(query.split('&')[0])))
    response.setHeader('cache-control', 'no-store')
    return response.end('at last')
  }
  if (path === '/reach') return response.end(await reach(query))
  if (path === '/udp') return response.end(await askByUdp(query))
  if (path === '/hold') return response.end(await hold(query))
  if (path === '/held') return response.end(await stillHeld())
  if (path === '/write') {
    const [from, to, stream] = query.split(':')
    for (let line = Number(from); line <= Number(to); line++) process[stream].write('line ' + line + '\\n')
    return response.end()
  }
  if (path === '/write-long') {
    process.stdout.write('x'.repeat(Number(query)) + '\\n')
    return response.end()
  }
  const page = pages[path]
  response.statusCode = page ? 200 : 404
  response.end(page ? page() : '')
}).listen(3000, '0.0.0.0')
process.on('SIGTERM', () => process.exit(0))
`

export type AppImage = { image: string; command: readonly string[]; writable: readonly string[]; registry: string }

export async function startImage(test: Scope, swarm: Swarm): Promise<AppImage> {
  const t = inReverse(test)
  const folder = await temporaryFolder(t)
  const registry = await startRegistry(t)
  const images = openImages({
    sql: await migratedSql(t),
    clock: systemClock,
    settings: { ...SETTINGS, registry: registry.url },
    folder: join(folder, 'images'),
    limits: { files: 1000, bytes: 1024 ** 3 },
    userAgent: 'test',
  })
  t.after(images.close)
  const files = join(folder, 'app')
  await mkdir(join(files, 'cache'), { recursive: true })
  await writeFile(join(files, 'server.mjs'), SERVER)
  await writeFile(join(files, 'cache/old'), 'of the image')
  const { reference } = await images.publish({
    output: `sha256:${'a'.repeat(64)}`,
    account: 'acme',
    app: 'app',
    base: { node: process.execPath, tools: [{ from: process.execPath, to: NODE }] },
    folders: [
      { kind: 'files', folder: files, writable: ['cache'] },
      { kind: 'initial', folder: files, writable: ['cache'] },
    ],
    config: {
      title: 'app',
      environment: { PATH: '/headland/lib/node/bin:/usr/bin:/bin', PORT: '3000' },
      workingDirectory: '/app',
      command: ['node', 'server.mjs'],
      port: 3000,
    },
  })
  // The same files, where the nodes are.
  const near = await startRegistry(t, { of: registry, inside: swarm.inside, host: swarm.address })
  const host = new URL(near.url).host
  const image = reference.replace(new URL(registry.url).host, host)
  await Promise.all(swarm.nodes.map((node) => node.docker('pull', '--quiet', image)))
  return { image, command: ['node', 'server.mjs'], writable: ['/app/cache'], registry: host }
}
