/**
 * Runs all tests, in two groups at the same time. Tests of the whole service wait for a good part of their time, and unit tests
 * compute: at a lower priority, they run while the others wait. What unit tests print comes last.
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

const TOP = join(import.meta.dirname, '..')
const UNIT_TESTS = ['src', 'portal', 'torture'].map((folder) => `${folder}/**/*.test.ts`)

/** More of them take their time from each other, and some of them wait for a process for a few seconds only. */
const CONCURRENCY = 3
const TIMEOUT_MS = 1_800_000

/** Of unit tests. With the lowest one they would not get on while all cores are busy. */
const PRIORITY = 5

/** Folders with long files begin: a long file at the end would leave the other cores idle. */
const FIRST = ['test/modules/', 'test/images/', 'test/browser/']

const placeOf = (file: string): number => {
  const at = FIRST.findIndex((folder) => file.startsWith(folder))
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
process.exitCode = results.every(({ isGood }) => isGood) ? 0 : 1

async function runUnits(): Promise<{ isGood: boolean; printed: string }> {
  const options = ['--test', '--test-concurrency=1', `--test-timeout=${TIMEOUT_MS}`]
  const child = spawn(process.execPath, [...options, ...UNIT_TESTS], { cwd: TOP, stdio: ['ignore', 'pipe', 'inherit'] })
  const end = () => child.kill()
  process.once('exit', end)
  setPriority(child.pid as number, PRIORITY)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const printed = await text(child.stdout)
  const code = await ended
  process.off('exit', end)
  return { isGood: code === 0, printed }
}

async function runService(): Promise<{ isGood: boolean }> {
  let isGood = false
  const tests = run({
    files: files.map((file) => join(TOP, file)),
    concurrency: CONCURRENCY,
    timeout: TIMEOUT_MS,
    signal: over.signal,
  })
  tests.on('test:summary', ({ file, success }) => {
    // The one without a file is of all of them.
    if (file === undefined) isGood = success
  })
  await pipeline(tests.compose(new spec()), process.stdout, { end: false })
  return { isGood }
}
