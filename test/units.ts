/**
 * Runs the unit tests, and the files that are named: `node test/units.ts FILE…`. To start a process and load the modules
 * costs more than most tests, so most files share a few processes; a file that changes its process has one to itself.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Outcome, runApart } from './support/run-apart.ts'

const TOP = join(import.meta.dirname, '..')
const UNIT_TESTS = ['src', 'portal', 'torture'].map((folder) => `${folder}/**/*.test.ts`)

/** How many processes of several files there are. One more runs the others, one at a time. Many of these tests wait. */
const SHARED = 3
const TIMEOUT_MS = 1_800_000

/** What others in the same process would notice. */
const CHANGES_PROCESS = [
  // Hooks of a file, which would be hooks of all.
  /\b(before|after|beforeEach|afterEach)\b[^']*\} from 'node:test'/,
  // Timers that the test moves.
  /\bmock\.timers\b/,
  // What a process has once: its signals, warnings and settings, and whose certificates it trusts.
  /\bprocess\.(on|once|emit|exit|umask|chdir)\(/,
  /\bprocess\.env\.\w+ = /,
  /\bsetDefaultCACertificates\b/,
  // How much memory it has taken, and which children it has.
  /\bmemoryUsage\b|\bgc\(|\/children`/,
]

const isAlone = (file: string): boolean => {
  const text = readFileSync(join(TOP, file), 'utf8')
  return CHANGES_PROCESS.some((pattern) => pattern.test(text))
}

// What was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const files = globSync([...UNIT_TESTS, ...process.argv.slice(2)], { cwd: TOP }).sort()
const alone = files.filter(isAlone)
const others = files.filter((file) => !alone.includes(file))
const groups = Array.from({ length: SHARED }, (_, group) => others.filter((_, index) => index % SHARED === group))

const outcomes = await Promise.all([...groups.map(runTogether), runEach(alone)])
// What failed comes last.
for (const { printed } of outcomes.sort((a, b) => Number(b.isGood) - Number(a.isGood))) process.stdout.write(printed)
process.exitCode = outcomes.every(({ isGood }) => isGood) ? 0 : 1

async function runTogether(files: readonly string[]): Promise<Outcome> {
  const outcome = await runNode(['test/support/together.ts', ...files])
  // The numbers are printed at the end.
  if (/ℹ tests \d+/.test(outcome.printed)) return outcome
  const { printed } = await runEach(files)
  const why = 'A process of several test files ended before its tests had. This is each file in a process of its own:'
  return { ...outcome, isGood: false, printed: `${outcome.printed}\n${why}\n\n${printed}` }
}

/** A process for each file. */
function runEach(files: readonly string[]): Promise<Outcome> {
  return runNode(['--test', '--test-concurrency=1', ...files])
}

function runNode(args: readonly string[]): Promise<Outcome> {
  return runApart([process.execPath, `--test-timeout=${TIMEOUT_MS}`, ...args], { cwd: TOP, maxMs: TIMEOUT_MS })
}
