/** A bounded load by wrk, and the CPU time that it cost the server. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { median, Skipped } from './bench.ts'
import { cpuMs } from './cpu.ts'

export type Server = { url: string; pid: number; headers?: Record<string, string> }
export type Load = { requestsPerSecond: number; cpuMicrosecondsPerRequest: number }

const CONNECTIONS = 32
const SECONDS = { warmUp: 3, round: 3 }
const ROUNDS = 5

/** The two take turns, so that whatever else the machine does falls on both; each number is a median of its rounds. */
export async function sideBySide(ours: Server, peer: Server): Promise<{ ours: Load; peer: Load }> {
  const rounds: { ours: Load[]; peer: Load[] } = { ours: [], peer: [] }
  for (const server of [ours, peer]) await load(server, SECONDS.warmUp)
  for (let round = 0; round < ROUNDS; round++) {
    rounds.ours.push(await load(ours, SECONDS.round))
    rounds.peer.push(await load(peer, SECONDS.round))
  }
  return { ours: medianOf(rounds.ours), peer: medianOf(rounds.peer) }
}

const medianOf = (loads: readonly Load[]): Load => ({
  requestsPerSecond: median(loads.map(({ requestsPerSecond }) => requestsPerSecond)),
  cpuMicrosecondsPerRequest: median(loads.map(({ cpuMicrosecondsPerRequest }) => cpuMicrosecondsPerRequest)),
})

async function load({ url, pid, headers = {} }: Server, seconds: number): Promise<Load> {
  const cpuBefore = cpuMs(pid)
  const printed = await wrk([
    ...['--threads', '1', '--connections', String(CONNECTIONS), '--duration', `${seconds}s`],
    ...Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
    url,
  ])
  const cpu = cpuMs(pid) - cpuBefore
  if (/Non-2xx|Socket errors/.test(printed)) throw new Error(`${url} did not answer every request well:\n${printed}`)
  const requests = Number(/(\d+) requests in/.exec(printed)?.[1])
  return {
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(printed)?.[1]),
    cpuMicrosecondsPerRequest: (cpu * 1000) / requests,
  }
}

async function wrk(args: string[]): Promise<string> {
  try {
    return (await promisify(execFile)('wrk', args)).stdout
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new Skipped('apt-get install wrk')
    throw error
  }
}
