/**
 * Runs the service under faults and load for a while, and reports whether it kept its promises. Exit code 1 if it did
 * not.
 *
 *   node torture/run.ts [--seconds 120] [--seed 7] [--accounts 3] [--cluster]
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { OWN_NETWORK } from '../test/support/machine/own-network.ts'
import { noSmallDisk } from '../test/support/machine/small-disk.ts'
import { type OpenSystem, type Outcome, torture } from './torture.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    accounts: { type: 'string', default: '3' },
    cluster: { type: 'boolean', default: false },
  },
})
const [seconds, seed, accounts] = [Number(values.seconds), Number(values.seed), Number(values.accounts)]
const args = ['--seconds', `${seconds}`, '--seed', `${seed}`, '--accounts', `${accounts}`]
if (values.cluster) args.push('--cluster')
const SHOWN = 5

if (![seconds, seed, accounts].every((number) => Number.isInteger(number) && number >= 0) || accounts === 0) {
  say('--seconds, --seed and --accounts are whole numbers.')
  process.exitCode = 2
} else if (noSmallDisk !== undefined) {
  say(`The torture run needs a disk that it can fill, and sandboxed programs: ${noSmallDisk}.`)
  process.exitCode = 2
} else if (values.cluster && !process.env[OWN_NETWORK]) process.exitCode = runInOwnNetwork()
else process.exitCode = await run(values.cluster ? (await import('./cluster/cluster.ts')).openCluster : undefined)

function runInOwnNetwork(): number {
  const program = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  const prepare = [program('../test/prepare.ts'), '--swarm']
  const itself = [program('../test/support/machine/own-network.ts'), process.execPath, program('./run.ts'), ...args]
  const codeOf = (command: readonly string[]) => spawnSync(process.execPath, command, { stdio: 'inherit' }).status ?? 1
  return codeOf(prepare) || codeOf(itself)
}

async function run(open: OpenSystem | undefined): Promise<number> {
  say(`seed ${seed}`)
  const ends: (() => unknown)[] = []
  const scope = { after: (end: () => unknown) => void ends.unshift(end) }
  try {
    const outcome = await torture(scope, { seconds, seed, accounts, ...(open ? { open } : {}) })
    print(outcome)
    say(`seed ${seed}`)
    return outcome.violations.length === 0 ? 0 : 1
  } finally {
    for (const end of ends) await end()
  }
}

function print({ violations, actions, faults, restarts, calls, refusals, visits, kept }: Outcome) {
  for (const [about, found] of Map.groupBy(violations, (violation) => violation.about)) {
    say('')
    for (const { what } of found.slice(0, SHOWN)) say(`VIOLATION  ${what}`)
    if (found.length > SHOWN) say(`… and ${found.length - SHOWN} more of it`)
    say(`  about ${about}; the last events there:`)
    for (const line of found[0]?.lines ?? []) say(`  ${line}`)
  }
  say(`\nactions     ${inWords(actions)}`)
  say(`faults      ${inWords(faults)}`)
  say(`restarts    ${restarts}`)
  say(`calls       ${inWords(calls)}`)
  say(`refusals    ${inWords(refusals)}`)
  say(`visits      ${inWords(visits)}`)
  say(`violations  ${violations.length}`)
  if (!kept) return
  say(`\nThe data is in ${kept.data}, the log of the service in ${kept.log}.`)
  say(`Again: npm run torture -- ${args.join(' ')}`)
}

function inWords(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', ')
}

function say(text: string) {
  process.stdout.write(`${text}\n`)
}
