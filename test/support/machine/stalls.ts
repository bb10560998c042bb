/**
 * Stalls of the running service, from its own `/metrics`: how long its event loops were blocked. Machines that run
 * tests are noisy, so the bound is generous: an attack that works blocks for many seconds.
 */
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { TICK_MS, watchStalls } from '../../../src/watchdog/watchdog.ts'
import type { TestService } from '../service/service.ts'

export type Stalls = Record<'control' | 'edge', { count: number; longestMs: number }>

/**
 * Generous: the promise is 50 ms on an otherwise idle machine. It is measured in CPU time, which other programs do not
 * lengthen.
 */
export const MAX_STALL_MS = 1000

type Watched = Pick<TestService, 'api' | 'log'>

export async function readStalls({ api }: Pick<Watched, 'api'>): Promise<Stalls> {
  const text = await (await fetch(`${api}/metrics`)).text()
  return { control: stallsOf('control', text), edge: stallsOf('edge', text) }
}

/** Runs something hostile; fails where an event loop of the service was blocked for longer than `maxMs` meanwhile. */
export async function withoutStall<T>(service: Watched, work: () => Promise<T>, maxMs = MAX_STALL_MS): Promise<T> {
  const logBefore = service.log().length
  const result = await work()
  // A stall that is still going on delays this response, and is in the metrics before the next one.
  await readStalls(service)
  await readStalls(service)
  const stalls = [
    ...service
      .log()
      .slice(logBefore)
      .matchAll(/^.*"cpuMs":(\d+).*"msg":"the event loop stood still".*$/gm),
  ]
  const long = stalls.filter(([, cpuMs]) => Number(cpuMs) > maxMs).map(([line]) => line)
  assert.deepEqual(long, [])
  return result
}

/** The longest time for which this process blocked its event loop during the action, in CPU time. */
export async function longestWorkMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  const end = watchStalls(({ cpuMs }) => {
    longest = Math.max(longest, cpuMs)
  })
  await work()
  // The last stall is measured by the next tick.
  await wait(2 * TICK_MS)
  end()
  return longest
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
  }
}
