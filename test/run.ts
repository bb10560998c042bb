/**
 * Runs all tests, in two groups at the same time. All of them wait for a good part of their time; unit tests have the lower
 * priority, and run while the others wait. What unit tests print comes after the others, and what failed comes last.
 */
import { globSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { inspect } from 'node:util'
import { type Outcome, runApart } from './support/run-apart.ts'

const TOP = join(import.meta.dirname, '..')

/** Two cores are busy then. More of them take their time from each other, and some of them wait for a process for a few seconds only. */
const CONCURRENCY = 4
const TIMEOUT_MS = 1_800_000

/** Of unit tests. With the lowest one they would not get on while all cores are busy. */
const PRIORITY = 5

/** How many files are named with their time. */
const LONGEST = 30

/** Where long files are begins: a long file at the end would leave the other cores idle. */
const FIRST = [
  'test/e2e/security/hostile',
  'test/browser/',
  'test/modules/',
  'test/images/',
  'test/e2e/deploy/',
  'test/e2e/operate/',
]

const placeOf = (file: string): number => {
  const at = FIRST.findIndex((start) => file.startsWith(start))
  return at < 0 ? FIRST.length : at
}

const files = globSync('test/**/*.test.ts', { cwd: TOP })
  .filter((file) => !file.startsWith('test/swarm/'))
  .sort()
  .sort((a, b) => placeOf(a) - placeOf(b))

/** What was started ends with this process. */
const over = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    over.abort()
    process.exit(1)
  })
}

const results = await Promise.all([runUnits(), runService()])
process.stdout.write(`\nUnit tests:\n\n${results[0].printed}`)
process.stdout.write(`\nThe longest files:\n${results[1].longest.join('\n')}\n`)
process.stdout.write(results[1].failures.map((failure) => `\nFailed: ${failure}\n`).join(''))
process.exitCode = results.every(({ isGood }) => isGood) ? 0 : 1

function runUnits(): Promise<Outcome> {
  return runApart([process.execPath, 'test/units.ts'], { cwd: TOP, priority: PRIORITY })
}

async function runService(): Promise<{ isGood: boolean; failures: string[]; longest: string[] }> {
  let isGood = false
  const failures: string[] = []
  const seconds: [string, number][] = []
  const tests = run({
    files: files.map((file) => join(TOP, file)),
    concurrency: CONCURRENCY,
    timeout: TIMEOUT_MS,
    signal: over.signal,
  })
  tests.on('test:summary', ({ file, success, duration_ms: duration }) => {
    // The one without a file is of all of them.
    if (file === undefined) isGood = success
    else seconds.push([relative(TOP, file), Math.round(duration / 1000)])
  })
  tests.on('test:fail', ({ file = '', line, name, details: { error } }) => {
    const { cause, failureType } = error as Error & { failureType?: string }
    if (failureType === 'subtestsFailed') return
    failures.push(`${relative(TOP, file)}:${line} ${name}\n${inspect(cause ?? error)}`)
  })
  await pipeline(tests.compose(new spec()), process.stdout, { end: false })
  const longest = seconds.sort(([, a], [, b]) => b - a).slice(0, LONGEST)
  return { isGood, failures, longest: longest.map(([file, duration]) => `${duration} s ${file}`) }
}
