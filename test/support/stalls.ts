/**
 * Stalls of the running service, as it tells them itself in `/metrics`: how long its event loops stood still. Machines that
 * run tests are noisy, so what is asserted is generous: an attack that works takes many seconds.
 */
import assert from 'node:assert/strict'
import type { TestService } from './service.ts'

export type Stalls = Record<'control' | 'edge', { count: number; longestMs: number; above(ms: number): number }>

/** Generous: what is promised is 50 ms, on a machine that does nothing else. */
export const STALL_MOST_MS = 2000

type Watched = Pick<TestService, 'api' | 'log'>

export async function readStalls({ api }: Pick<Watched, 'api'>): Promise<Stalls> {
  const text = await (await fetch(`${api}/metrics`)).text()
  return { control: stallsOf('control', text), edge: stallsOf('edge', text) }
}

/** Runs something hostile; fails where an event loop of the service stood still for longer than `mostMs` meanwhile. */
export async function withoutStall<T>(service: Watched, work: () => Promise<T>, mostMs = STALL_MOST_MS): Promise<T> {
  const before = await readStalls(service)
  const logBefore = service.log().length
  const result = await work()
  // A stall that goes on holds this answer up, and is told in the next.
  await readStalls(service)
  const after = await readStalls(service)
  for (const process of ['control', 'edge'] as const) {
    const more = after[process].above(mostMs) - before[process].above(mostMs)
    const told =
      service
        .log()
        .slice(logBefore)
        .match(/.*the event loop stood still.*/g) ?? []
    assert.equal(more, 0, `${process} stood still for more than ${mostMs} ms:\n${told.join('\n')}`)
  }
  return result
}

function stallsOf(process: string, metrics: string): Stalls['control'] {
  const figure = (name: string): number => {
    const line = metrics.split('\n').find((line) => line.startsWith(`headland_stall_${name} `))
    assert.ok(line, `/metrics has headland_stall_${name}`)
    return Number(line.split(' ')[1])
  }
  const count = figure(`seconds_count{process="${process}"}`)
  return {
    count,
    longestMs: figure(`longest_seconds{process="${process}"}`) * 1000,
    /** `ms` must be one of the histogram's bounds. */
    above: (ms) => count - figure(`seconds_bucket{le="${ms / 1000}",process="${process}"}`),
  }
}
