/**
 * Runs the service under a steady load and reports whether anything grows that should not: memory, heaps, handles,
 * disk. Exit code 1 when something does, or when a call failed. Prints a table for people and a line of JSON for
 * programs.
 *
 *   node torture/soak.ts [--minutes 10]
 */
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { table } from '../src/contract/index.ts'
import { type Scope, temporaryFolder } from '../test/support/folder.ts'
import { startService } from '../test/support/service/service.ts'
import { type Judgement, judge, type Sample } from './soak/flat.ts'
import { MEASURES, type Measure, sample } from './soak/samples.ts'
import { ACCOUNTS, type Load, runSteadyLoad } from './soak/steady.ts'

const SAMPLE_MS = 5000
/** Caches fill, code is compiled, the first deployments are replaced: this growth is no leak. */
const WARM_UP = 0.3
const MEBIBYTE = 1024 ** 2
const HEAP_PROBE = fileURLToPath(new URL('./soak/heap-probe.mjs', import.meta.url))
/** How many failures are printed. */
const SHOWN = 5

export type Soaked = Load & {
  judgements: Record<Measure, Judgement & { allowed: number; unit: string }>
  samples: number
}

export async function soak(t: Scope, minutes: number): Promise<Soaked> {
  const heaps = await temporaryFolder(t)
  const service = await startService(t, {
    settings: {
      HEADLAND_CACHE_MEMORY: String(8 * MEBIBYTE),
      HEADLAND_CACHE_DISK: String(8 * MEBIBYTE),
      // Small enough to be full before the warm-up is over.
      HEADLAND_KEEP_HISTORY: '20',
      NODE_OPTIONS: `--import=${HEAP_PROBE}`,
      SOAK_FOLDER: heaps,
    },
  })
  for (const account of ACCOUNTS) await service.operator('accounts', 'create', account)
  const over = new AbortController()
  const loading = runSteadyLoad(service, over.signal)
  const begun = performance.now()
  const series = new Map<Measure, Sample[]>()
  const passed = () => (performance.now() - begun) / 60_000

  await Promise.race([loading, wait(minutes * 60_000 * WARM_UP)])
  while (passed() < minutes) {
    const [at, values] = [passed(), await sample(service, heaps)]
    for (const [measure, value] of Object.entries(values) as [Measure, number][]) {
      series.set(measure, [...(series.get(measure) ?? []), { minutes: at, value }])
    }
    await Promise.race([loading, wait(Math.min(SAMPLE_MS, minutes * 2000))])
  }
  over.abort()
  const load = await loading
  const exitCode = await service.stop()
  if (exitCode !== 0) load.failures.push(`it stopped with exit code ${exitCode}`)
  const judgements = Object.entries(MEASURES).map(([measure, { allowed, unit }]) => {
    const samples = series.get(measure as Measure) ?? []
    return [measure, { ...judge(samples, allowed), allowed, unit }]
  })
  return { ...load, judgements: Object.fromEntries(judgements), samples: series.get('database')?.length ?? 0 }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await run()

async function run(): Promise<number> {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } })
  const minutes = Number(values.minutes)
  if (!(minutes > 0)) {
    say('--minutes is a number above 0.')
    return 2
  }
  const ends: (() => unknown)[] = []
  try {
    const soaked = await soak({ after: (end) => void ends.unshift(end) }, minutes)
    say(inWords(soaked))
    say(JSON.stringify(soaked))
    return isGood(soaked) ? 0 : 1
  } finally {
    for (const end of ends) await end()
  }
}

export function isGood({ failures, judgements }: Soaked): boolean {
  return failures.length === 0 && Object.values(judgements).every(({ isFlat }) => isFlat)
}

function inWords({ counts, failures, judgements, samples }: Soaked): string {
  const rows = Object.entries(judgements).map(([measure, { unit, first, last, slope, allowed, isFlat }]) => ({
    measure,
    unit,
    'at first': first.toFixed(1),
    'at last': last.toFixed(1),
    'a minute': slope.toFixed(3),
    allowed: String(allowed),
    verdict: isFlat ? 'flat' : 'GROWS',
  }))
  const done = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`)
  return [
    table(rows),
    `${samples} samples; ${done.join(', ')}; failures ${failures.length}`,
    ...failures.slice(0, SHOWN),
  ].join('\n')
}

function say(text: string) {
  process.stdout.write(`${text}\n`)
}
