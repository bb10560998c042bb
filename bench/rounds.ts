/** Puts servers under the same bounded load by wrk, in turns, and measures the CPU time per request of each. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { IS_QUICK, median, Skipped } from './bench.ts'
import { treeCpuMs } from './cpu.ts'

/** `pid`: its descendants count as well. `others`: processes that work for it without being its descendants. */
export type Loaded = { url: string; pid: number; others?: readonly number[]; headers?: Record<string, string> }

export type Cost = { requestsPerSecond: number; cpuMicrosecondsPerRequest: number }

export type Rounds = {
  connections?: number
  rounds?: number
  seconds?: number
  warmUpSeconds?: number
  /** The warm-up is repeated until so many requests are answered: a busy machine answers few in its seconds. */
  warmUpRequests?: number
  /** A Lua script for wrk, whose argument is a text that is unique to the round. */
  script?: string
}

/** The `noise` of every bench that is measured in this way. */
export const TURNS =
  'CPU time by the kernel for each request, ours and the peer under the same load in turns, medians of five rounds after a warm-up'

const SHAPE = IS_QUICK ? { rounds: 1, seconds: 1, warmUpSeconds: 1 } : { rounds: 5, seconds: 3, warmUpSeconds: 3 }

/** They take turns, so that other load on the machine affects all of them; each number is a median of its rounds. */
export async function inTurns<Name extends string>(
  servers: Record<Name, Loaded>,
  given: Rounds = {},
): Promise<Record<Name, Cost>> {
  const { connections = 64, script, warmUpRequests = 0 } = given
  const { rounds, seconds, warmUpSeconds } = IS_QUICK ? SHAPE : { ...SHAPE, ...given }
  const names = Object.keys(servers) as Name[]
  const costs = new Map<Name, Cost[]>(names.map((name) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    // The first is a warm-up.
    const isCounted = round > 0
    for (const name of names) {
      const shape = { connections, seconds: isCounted ? seconds : warmUpSeconds, script, argument: `${name}-${round}` }
      const cost = await load(servers[name], shape)
      if (isCounted) costs.get(name)?.push(cost)
      else if (!IS_QUICK) await warmUp(servers[name], shape, warmUpRequests - cost.requests)
    }
  }
  return Object.fromEntries(names.map((name) => [name, medianOf(costs.get(name) ?? [])])) as Record<Name, Cost>
}

/** Until so many more requests are answered, in a time that is limited. */
async function warmUp(server: Loaded, shape: Shape, requests: number) {
  let left = requests
  for (let more = 0; more < MAX_WARM_UPS && left > 0; more++) {
    const { requests: answered } = await load(server, { ...shape, argument: `${shape.argument}-${more}` })
    left -= answered
  }
}

const MAX_WARM_UPS = 4

type Shape = { connections: number; seconds: number; script: string | undefined; argument: string }

async function load(
  { url, pid, others = [], headers = {} }: Loaded,
  { connections, seconds, script, argument }: Shape,
): Promise<Cost & { requests: number }> {
  const cpuOfAll = () => [pid, ...others].reduce((sum, one) => sum + treeCpuMs(one), 0)
  const before = cpuOfAll()
  const { requests, requestsPerSecond } = await wrk(url, [
    // A slow response is no error: another program may keep the machine busy.
    ...['--threads', '1', '--connections', String(connections), '--duration', `${seconds}s`, '--timeout', '10s'],
    ...Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
    ...(script === undefined ? [url] : ['--script', script, url, '--', argument]),
  ])
  const cpuMs = cpuOfAll() - before
  return { requests, requestsPerSecond, cpuMicrosecondsPerRequest: (cpuMs * 1000) / requests }
}

const medianOf = (costs: readonly Cost[]): Cost => ({
  requestsPerSecond: median(costs.map(({ requestsPerSecond }) => requestsPerSecond)),
  cpuMicrosecondsPerRequest: median(costs.map(({ cpuMicrosecondsPerRequest }) => cpuMicrosecondsPerRequest)),
})

/** Fails if a request was not answered well. */
export async function wrk(url: string, args: string[]): Promise<{ requests: number; requestsPerSecond: number }> {
  const { stdout: printed } = await promisify(execFile)('wrk', args).catch((error) => {
    throw error.code === 'ENOENT' ? new Skipped('apt-get install wrk') : error
  })
  if (/Non-2xx|Socket errors/.test(printed)) throw new Error(`${url} did not answer every request well:\n${printed}`)
  return {
    requests: Number(/(\d+) requests in/.exec(printed)?.[1]),
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(printed)?.[1]),
  }
}
