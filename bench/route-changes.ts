/** A change of what one environment answers costs the same however many environments there are. */
import { join } from 'node:path'
import { type Bench, IS_QUICK, median } from './bench.ts'
import { treeCpuMs } from './cpu.ts'
import { ACCOUNT, seedEnvironments } from './seed.ts'
import { logIn, type Service, startService, temporaryFolder } from './service.ts'

const FEW = 10
const MANY = IS_QUICK ? 1000 : 100_000
const ROUNDS = IS_QUICK ? 1 : 7
const CHANGES = IS_QUICK ? 5 : 60

export const routeChanges: Bench = {
  name: 'route-changes',
  what: `a change of the domains of one environment, until the edge answers by it, among ${MANY} environments, beside ${FEW}`,
  noise: `CPU time by the kernel of the whole service, both in turns, medians of ${ROUNDS} rounds after a warm-up`,
  async run() {
    await using few = await startAmong(FEW)
    await using many = await startAmong(MANY)
    const costs = { few: [] as number[], many: [] as number[] }
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [name, one] of Object.entries({ few, many }) as ['few' | 'many', typeof few][]) {
        const cpuMs = await costOfChange(one, round)
        // The first is a warm-up.
        if (round > 0) costs[name].push(cpuMs)
      }
    }
    return [
      {
        what: 'CPU per change',
        unit: 'ms',
        ours: median(costs.many),
        peer: median(costs.few),
        goal: { of: 'ratio', max: 1.5 },
      },
    ]
  },
}

type Among = { service: Service; url: string; headers: Record<string, string> }

async function startAmong(environments: number): Promise<AsyncDisposable & Among> {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(await temporaryFolder())
  const dataDir = join(folder.path, 'data')
  const { app } = await seedEnvironments(dataDir, { app: environments })
  const service = stack.use(await startService(dataDir))
  const headers = { ...(await logIn(dataDir, { account: ACCOUNT })), 'content-type': 'application/json' }
  const url = `${service.api}/v1/accounts/${ACCOUNT}/apps/app/environments/${app[0]}/domains:replace`
  const moved = stack.move()
  return { service, url, headers, [Symbol.asyncDispose]: () => moved.disposeAsync() }
}

/** Each change is answered when the edge uses it. */
async function costOfChange({ service, url, headers }: Among, round: number): Promise<number> {
  const before = treeCpuMs(service.pid)
  for (let change = 0; change < CHANGES; change++) {
    const body = JSON.stringify({ domains: [`${round}-${change}.example.com`] })
    const { status } = await fetch(url, { method: 'POST', headers, body })
    if (status !== 200) throw new Error(`the domains were not changed: ${status}`)
  }
  return (treeCpuMs(service.pid) - before) / CHANGES
}
