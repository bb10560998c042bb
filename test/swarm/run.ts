/**
 * Runs the tests of clusters: two files at the same time, each in a network of its own, since they wait for a good part of
 * their time. What a file prints comes when it has ended. One that takes far too long is ended, so that others get their turn.
 */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { isLong } from '../support/long.ts'
import { CRASHED } from '../support/machine/docker-engine.ts'
import { runApart } from '../support/run-apart.ts'

const TOP = join(import.meta.dirname, '../..')
const OWN_NETWORK = join(TOP, 'test/support/machine/own-network.ts')
const CONCURRENCY = 2
/** Docker's swarm has a fault by which it crashes at times when services are removed. */
const ATTEMPTS = 3
const MINUTE_MS = 60_000
/** Of one test or suite, and of a file. A busy machine needs half of it. */
const MAX_MS = isLong ? { test: 60 * MINUTE_MS, file: 120 * MINUTE_MS } : { test: 15 * MINUTE_MS, file: 20 * MINUTE_MS }
/** A long file at the end would leave the other cores idle. */
const FIRST = ['cluster', 'guide', 'apps'].map((name) => `test/swarm/${name}.test.ts`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const found = globSync('test/swarm/*.test.ts', { cwd: TOP }).sort()
const waiting = [...FIRST, ...found.filter((file) => !FIRST.includes(file))]
const failed: string[] = []
await Promise.all(Array.from({ length: CONCURRENCY }, runNext))
process.stdout.write(failed.map((file) => `\nFailed: ${file}\n`).join(''))
process.exitCode = failed.length === 0 ? 0 : 1

async function runNext(): Promise<void> {
  const file = waiting.shift()
  if (file === undefined) return
  let left = ATTEMPTS
  let outcome = await runFile(file)
  while (!outcome.isGood && outcome.printed.includes(CRASHED) && --left > 0) outcome = await runFile(file)
  if (!outcome.isGood) failed.push(file)
  return runNext()
}

async function runFile(file: string): Promise<{ isGood: boolean; printed: string }> {
  const began = performance.now()
  const test = [process.execPath, '--test', `--test-timeout=${MAX_MS.test}`, file]
  const command = [process.execPath, OWN_NETWORK, ...test] as const
  const { isGood, isLate, printed } = await runApart(command, { cwd: TOP, maxMs: MAX_MS.file })
  const seconds = Math.round((performance.now() - began) / 1000)
  process.stdout.write(`\n${file}, ${seconds} s${isLate ? ', which is too long: it was ended' : ''}:\n\n${printed}`)
  return { isGood, printed }
}
