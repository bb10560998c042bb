/** The edge in a process of its own, as the service runs it, in front of an origin in another process. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Target } from '../../src/edge/routes.ts'
import { startEdge } from '../../test/support/edge/edge-process.ts'
import { publish } from '../../test/support/edge/publish.ts'
import { end, ready } from '../service.ts'
import type { Origin } from './other-caches.ts'

export type RunningEdge = AsyncDisposable & { url: string; pid: number }

/** Requests to its address lead to the origin, and so do the hosts of the other environments. */
export async function startEdgeBefore(
  folder: string,
  origin: Origin,
  { environments = 1, recordsRequests = true } = {},
): Promise<RunningEdge> {
  const edge = await startEdge({
    folder,
    // The default of the service.
    cache: { memoryBytes: 268_435_456, folder: join(folder, 'cache'), diskBytes: 2_147_483_648 },
    countsPaths: true,
    recordsRequests,
  })
  const names = Array.from({ length: environments }, (_, at) => (at === 0 ? '127.0.0.1' : hostOf(at)))
  await publish(edge, Object.fromEntries(names.map((name, at) => [name, targetOf(at, origin)])))
  return {
    url: `http://127.0.0.1:${edge.address.port}`,
    pid: edge.pid() as number,
    [Symbol.asyncDispose]: () => edge.stop(1000),
  }
}

export const hostOf = (at: number): string => `site-${at}.example`

const targetOf = (at: number, origin: Origin): Target => ({
  kind: 'server',
  environment: `e${at}`,
  deployment: `d${at}`,
  instance: `i${at}`,
  ...origin,
})

/** A page of so many bytes under every address, fresh for an hour unless `cacheControl` says otherwise. */
export async function startOrigin(bytes: number, cacheControl?: string): Promise<AsyncDisposable & Origin> {
  const program = fileURLToPath(new URL('./origin.ts', import.meta.url))
  const args = cacheControl === undefined ? [] : ['127.0.0.1', '0', cacheControl]
  const child = spawn(process.execPath, [program, String(bytes), ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const { port } = await ready(child)
  return { host: '127.0.0.1', port: Number(port), [Symbol.asyncDispose]: () => end(child) }
}

/** The least that Node does for a response; what it answers is said by its arguments. */
export async function startFloor(...args: string[]): Promise<RunningEdge> {
  const program = fileURLToPath(new URL('./floor.ts', import.meta.url))
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const { port } = await ready(child)
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid as number,
    [Symbol.asyncDispose]: () => end(child),
  }
}
