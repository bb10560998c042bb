/** What the hook of learned caching costs: a page that a framework renders from three fetches, with the hook and without it. */
import { join } from 'node:path'
import {
  buildApp,
  FRAMEWORK_APPS,
  type FrameworkApp,
  type StartedApp,
  startBuilt,
  startWordpressLike,
} from '../test/support/content/framework-apps.ts'
import { type Bench, IS_QUICK, median, type Result } from './bench.ts'
import { inTurns } from './rounds.ts'
import { temporaryFolder } from './service.ts'

const CONNECTIONS = 4
/** Of each side: two processes of the same app differ by up to a tenth, for as long as they live. */
const PROCESSES = IS_QUICK ? 1 : 9
/** The others take minutes to install and to build. */
const QUICK = 'Astro'

/** One for each framework: `content-hook-next`, for example. */
export const contentHooks: readonly Bench[] = Object.entries(FRAMEWORK_APPS).map(([name, app]) => ({
  name: `content-hook-${name.toLowerCase().replace('.js', '')}`,
  what: `a page that ${name} renders from three answers of its CMS, with the hook of learned caching, beside the same without`,
  noise: `CPU time by the kernel for each request, ${PROCESSES} processes of each, each pair in short turns after a warm-up, median`,
  async run() {
    if (IS_QUICK && name !== QUICK) return []
    await using folder = await temporaryFolder()
    await using cms = await startWordpressLike()
    const at = join(folder.path, app.example)
    await buildApp(app, at)
    return [await compare(name, app, at, cms.url)]
  },
}))

async function compare(name: string, app: FrameworkApp, folder: string, cms: string): Promise<Result> {
  const pairs: Pair[] = []
  while (pairs.length < PROCESSES) pairs.push(await measurePair(app, folder, cms))
  return {
    what: `CPU per page of ${name}`,
    beside: 'without the hook',
    unit: 'µs',
    ours: median(pairs.map(({ hooked }) => hooked)),
    peer: median(pairs.map(({ plain }) => plain)),
    goal: { of: 'ratio', max: 1.05 },
  }
}

type Pair = { hooked: number; plain: number }

/** Both live at the same time, so that other load on the machine affects both. */
async function measurePair(app: FrameworkApp, folder: string, cms: string): Promise<Pair> {
  await using hooked = await startBuilt(app, folder, cms, true)
  await using plain = await startBuilt(app, folder, cms, false)
  const pageOf = ({ url, pid }: StartedApp) => ({ url: `${url}/p/post-1`, pid })
  const shape = { connections: CONNECTIONS, rounds: 3, seconds: 2, warmUpSeconds: 4 }
  const costs = await inTurns({ hooked: pageOf(hooked), plain: pageOf(plain) }, shape)
  return { hooked: costs.hooked.cpuMicrosecondsPerRequest, plain: costs.plain.cpuMicrosecondsPerRequest }
}
