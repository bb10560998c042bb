/** Servers under the same bounded load by wrk, in turns, and the CPU time that a request cost each. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { IS_QUICK, median, Skipped } from './bench.ts'
import { treeCpuMs } from './cpu.ts'

/** `pid`: what descends from it is counted with it. `others`: processes that work for it and do not descend from it. */
export type Loaded = { url: string; pid: number; others?: readonly number[]; headers?: Record<string, string> }

export type Cost = { requestsPerSecond: number; cpuMicrosecondsPerRequest: number }

export type Rounds = {
  connections?: number
  rounds?: number
  seconds?: number
  warmUpSeconds?: number
  /** A script for wrk in Lua, which gets a text that no other round gets as its argument. */
  script?: string
}

/** Of every bench that is measured in this way. */
export const TURNS =
  'CPU time by the kernel for each request, ours and the peer under the same load in turns, medians of five rounds after one to get warm'

const SHAPE = IS_QUICK ? { rounds: 1, seconds: 1, warmUpSeconds: 1 } : { rounds: 5, seconds: 3, warmUpSeconds: 3 }

/** They take turns, so that whatever else the machine does falls on all; each number is a median of its rounds. */
export async function inTurns<Name extends string>(
  servers: Record<Name, Loaded>,
  given: Rounds = {},
): Promise<Record<Name, Cost>> {
  const { connections = 64, script } = given
  const { rounds, seconds, warmUpSeconds } = IS_QUICK ? SHAPE : { ...SHAPE, ...given }
  const names = Object.keys(servers) as Name[]
  const costs = new Map<Name, Cost[]>(names.map((name) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    // The first is to get warm.
    const isCounted = round > 0
    for (const name of names) {
      const shape = { connections, seconds: isCounted ? seconds : warmUpSeconds, script, argument: `${name}-${round}` }
      const cost = await load(servers[name], shape)
      if (isCounted) costs.get(name)?.push(cost)
    }
  }
  return Object.fromEntries(names.map((name) => [name, medianOf(costs.get(name) ?? [])])) as Record<Name, Cost>
}

type Shape = { connections: number; seconds: number; script: string | undefined; argument: string }

async function load(
  { url, pid, others = [], headers = {} }: Loaded,
  { connections, seconds, script, argument }: Shape,
): Promise<Cost> {
  const cpuOfAll = () => [pid, ...others].reduce((sum, one) => sum + treeCpuMs(one), 0)
  const before = cpuOfAll()
  const printed = await wrk([
    // Slow is no error: a machine that is busy with something else may let anybody wait.
    ...['--threads', '1', '--connections', String(connections), '--duration', `${seconds}s`, '--timeout', '10s'],
    ...Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
    ...(script === undefined ? [url] : ['--script', script, url, '--', argument]),
  ])
  const cpuMs = cpuOfAll() - before
  if (/Non-2xx|Socket errors/.test(printed)) throw new Error(`${url} did not answer every request well:\n${printed}`)
  const requests = Number(/(\d+) requests in/.exec(printed)?.[1])
  return {
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(printed)?.[1]),
    cpuMicrosecondsPerRequest: (cpuMs * 1000) / requests,
  }
}

const medianOf = (costs: readonly Cost[]): Cost => ({
  requestsPerSecond: median(costs.map(({ requestsPerSecond }) => requestsPerSecond)),
  cpuMicrosecondsPerRequest: median(costs.map(({ cpuMicrosecondsPerRequest }) => cpuMicrosecondsPerRequest)),
})

async function wrk(args: string[]): Promise<string> {
  try {
    return (await promisify(execFile)('wrk', args)).stdout
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new Skipped('apt-get install wrk')
    throw error
  }
}
