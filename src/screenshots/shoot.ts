/**
 * One picture of one site, by a browser in a sandbox of its own: as the user of the environment, without a network, with limits of its
 * own. It writes the picture to its stdout, so the service opens no file that a tenant's program has made.
 */
import { randomUUID } from 'node:crypto'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Engine, type Job, type Limits, runToEnd } from '../engines/index.ts'
import { CERTIFICATE_PROGRAM } from '../snapshots/index.ts'
import type { Browser } from './browser.ts'
import { MAX_PICTURE_BYTES, PICTURE, pictureFault } from './picture.ts'
import { type EdgePorts, openRelay } from './relay.ts'

export type Shot = { png: Buffer } | { fault: string }

export type Site = {
  url: string
  /** All names of the site. */
  hosts: readonly string[]
  user: Job['user']
}

export type Times = {
  /** All together. */
  limitMs: number
  /** How long the page may load before it is taken as far as it has come. */
  loadMs: number
  /** What a page shows after it has loaded. */
  settleMs: number
}

export const SHOT_TIMES: Times = { limitMs: 40_000, loadMs: 12_000, settleMs: 1_500 }

/** The least weight: builds and visitors come first. What it writes lies in memory. */
const LIMITS: Limits = {
  memoryBytes: 768 * 1024 ** 2,
  processes: 400,
  cpuWeight: 10,
  openFiles: 4096,
  fileBytes: 256 * 1024 ** 2,
  diskBytes: null,
  diskFiles: null,
}

const INSIDE = { node: '/headland/node', top: '/headland/screenshots' } as const
const AT = {
  programs: `${INSIDE.top}/inside`,
  certificates: `${INSIDE.top}/certificates.mjs`,
  socket: `${INSIDE.top}/edge.sock`,
} as const
const PROGRAMS = fileURLToPath(new URL('./inside', import.meta.url))
const MAX_WORDS = 500

type Parts = {
  engine: Engine
  browser: Browser
  edge: EdgePorts
  /** For sockets. */
  folder: string
  times?: Times
}

export function createShoot({ engine, browser, edge, folder, times = SHOT_TIMES }: Parts) {
  const { limitMs, loadMs, settleMs } = times

  const jobFor = ({ url, hosts, user }: Site, socket: string): Job => ({
    name: 'screenshot',
    argv: [
      INSIDE.node,
      '--no-warnings',
      `${AT.programs}/shoot.mjs`,
      JSON.stringify({
        browser: browser.path,
        socket: AT.socket,
        certificateProgram: AT.certificates,
        ...{ url, hosts, ...PICTURE, loadMs, settleMs },
      }),
    ],
    cwd: '/tmp',
    environment: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8' },
    mounts: [
      { from: PROGRAMS, to: AT.programs, isWritable: false },
      { from: CERTIFICATE_PROGRAM, to: AT.certificates, isWritable: false },
      { from: socket, to: AT.socket, isWritable: false },
      ...browser.mounts,
    ],
    user,
    limits: LIMITS,
    isOffline: true,
  })

  /** Rejects if the signal is aborted. */
  return async function shoot(site: Site, signal: AbortSignal): Promise<Shot> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
    const socket = join(folder, `${randomUUID().slice(0, 8)}.sock`)
    const relay = await openRelay({ path: socket, edge, hosts: site.hosts, user: site.user })
    const deadline = AbortSignal.timeout(limitMs)
    const over = new AbortController()
    const written: Buffer[] = []
    let [bytes, words] = [0, '']
    function take(stream: 'stdout' | 'stderr', chunk: Buffer) {
      if (stream === 'stderr') {
        words = `${words}${chunk.toString('utf8')}`.slice(-MAX_WORDS)
        return
      }
      bytes += chunk.length
      if (bytes > MAX_PICTURE_BYTES) over.abort()
      else written.push(chunk)
    }
    try {
      const ends = AbortSignal.any([signal, deadline, over.signal])
      const { code, excess } = await runToEnd(engine, jobFor(site, socket), take, ends)
      signal.throwIfAborted()
      if (deadline.aborted) return { fault: `it took more than ${limitMs / 1000} seconds` }
      if (over.signal.aborted) return { fault: 'the picture is too large' }
      if (excess?.length) return { fault: `it reached its limit of ${excess.join(', ')}` }
      if (code !== 0) return { fault: `the browser failed: ${words.trim()}` }
    } finally {
      await relay.close()
    }
    if (!relay.hasPage()) return { fault: 'the site answered with no page' }
    const png = Buffer.concat(written)
    const fault = pictureFault(png)
    return fault === undefined ? { png } : { fault: `the picture is not taken: ${fault}` }
  }
}

export type Shoot = ReturnType<typeof createShoot>
