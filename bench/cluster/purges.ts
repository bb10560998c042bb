/** Purges of an environment, answered when all edges have confirmed them: three in the cluster, one beside it. */
import type { Result } from '../bench.ts'
import { post } from '../client.ts'
import { cpuOf, type Side, type Sides } from './sides.ts'
import { PURGES } from './sizes.ts'

const AT_ONCE = 16

export async function measurePurges({ ours, peer }: Sides): Promise<Result[]> {
  const times = { ours: [] as number[], peer: [] as number[] }
  for (let count = -10; count < PURGES; count++) {
    const [one, other] = [await purge(ours), await purge(peer)]
    // The first ones are a warm-up.
    if (count < 0) continue
    times.ours.push(one)
    times.peer.push(other)
  }
  const [many, others] = [await purgeMany(ours), await purgeMany(peer)]
  const row = (what: string, share: number): Result => ({
    what,
    unit: 'ms',
    ours: quantile(times.ours, share),
    peer: quantile(times.peer, share),
  })
  return [
    row('a purge at three edges, p50', 0.5),
    row('a purge at three edges, p99', 0.99),
    { what: `purges, ${AT_ONCE} at a time`, unit: '/s', ours: many.perSecond, peer: others.perSecond },
    { what: `CPU of a purge, ${AT_ONCE} at a time, of all machines`, unit: 'ms', ours: many.cpuMs, peer: others.cpuMs },
  ]
}

async function purge({ caller, sites }: Side): Promise<number> {
  const began = performance.now()
  await post(caller, `/v1/${sites[0]?.name}:clearCache`, {})
  return performance.now() - began
}

async function purgeMany(side: Side): Promise<{ perSecond: number; cpuMs: number }> {
  const before = { cpu: cpuOf(side), time: performance.now() }
  const each = async () => {
    for (let count = 0; count < (2 * PURGES) / AT_ONCE; count++) await purge(side)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, each))
  const count = AT_ONCE * Math.ceil((2 * PURGES) / AT_ONCE)
  return {
    perSecond: (count * 1000) / (performance.now() - before.time),
    cpuMs: (cpuOf(side) - before.cpu) / count,
  }
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN
