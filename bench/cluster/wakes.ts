/** Apps that sleep, until the first byte at an edge: one after the other, and all at once. */
import { median, type Result } from '../bench.ts'
import { untilAsleep } from '../client.ts'
import { cpuOf, firstByte, type Side, type Sides } from './sides.ts'
import { DEPLOYS, SINGLE_WAKES, WAKE_ROUNDS } from './sizes.ts'

type Figures = { single: number[]; all: number[]; slowest: number[]; cpu: number[] }

export async function measureWakes({ ours, peer }: Sides): Promise<Result[]> {
  const figures = { ours: none(), peer: none() }
  for (let round = 0; round < WAKE_ROUNDS; round++) {
    for (const { caller, sites } of [ours, peer])
      await untilAsleep(
        caller,
        sites.map(({ name }) => name),
      )
    for (let at = 0; at < SINGLE_WAKES; at++) {
      figures.ours.single.push(await wakeOne(ours, at))
      figures.peer.single.push(await wakeOne(peer, at))
    }
    await wakeOthers(ours, figures.ours)
    await wakeOthers(peer, figures.peer)
  }
  const row = (what: string, figure: keyof Figures): Result => ({
    what,
    unit: 'ms',
    ours: median(figures.ours[figure]),
    peer: median(figures.peer[figure]),
  })
  const count = DEPLOYS - SINGLE_WAKES
  return [
    row('a wake, to the first byte', 'single'),
    row(`${count} woken at once, the median`, 'all'),
    row(`${count} woken at once, the slowest`, 'slowest'),
    row(`CPU of a wake, ${count} at once, of all machines and the app`, 'cpu'),
  ]
}

const none = (): Figures => ({ single: [], all: [], slowest: [], cpu: [] })

const wakeOne = ({ edges, sites }: Side, at: number): Promise<number> =>
  firstByte(edges[at % edges.length] as Side['edges'][0], sites[at] as Side['sites'][0])

async function wakeOthers(side: Side, { all, slowest, cpu }: Figures) {
  const before = cpuOf(side)
  const asked = Array.from({ length: DEPLOYS - SINGLE_WAKES }, (_, at) => wakeOne(side, SINGLE_WAKES + at))
  const times = await Promise.all(asked)
  all.push(median(times))
  slowest.push(Math.max(...times))
  cpu.push((cpuOf(side) - before) / times.length)
}
