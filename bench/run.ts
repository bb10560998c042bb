/**
 * Runs the measurements and prints one table. A missed goal is told, and is no failure unless `--strict` is given: a
 * machine that is busy with something else must not turn a build red.
 *
 *   node bench/run.ts [NAME …] [--json] [--strict]
 */
import { parseArgs } from 'node:util'
import { table } from '../src/contract/index.ts'
import { type Bench, goalInWords, isMet, type Result, ratioOf, Skipped } from './bench.ts'
import { edgeConformance } from './edge-conformance.ts'
import { edgeHit } from './edge-hit.ts'
import { edgeMiss } from './edge-miss.ts'
import { edgePurge } from './edge-purge.ts'
import { edgeRoutes } from './edge-routes.ts'
import { idleStatic } from './idle-static.ts'
import { listEnvironments } from './list-environments.ts'
import { nextByHand } from './next-by-hand.ts'
import { operationRead } from './operation-read.ts'
import { samePackages } from './packages.ts'
import { warmRebuild } from './rebuild.ts'
import { rebuildShare } from './rebuild-share.ts'
import { start } from './start.ts'
import { upload } from './upload.ts'
import { webhook } from './webhook.ts'

type Row = Result & { bench: string }

const BENCHES: readonly Bench[] = [
  operationRead,
  start,
  listEnvironments,
  upload,
  webhook,
  nextByHand,
  idleStatic,
  warmRebuild,
  rebuildShare,
  samePackages,
  edgeHit,
  edgeMiss,
  edgeRoutes,
  edgePurge,
  ...edgeConformance,
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean' }, strict: { type: 'boolean' } },
})
const unknown = positionals.find((name) => !BENCHES.some((bench) => bench.name === name))
if (process.platform !== 'linux') process.stderr.write('The measurements need /proc, as Linux has it.\n')
else if (unknown === undefined) process.exitCode = await runAll(BENCHES.filter(isWanted))
else {
  process.stderr.write(`There is no bench '${unknown}'. There are: ${BENCHES.map(({ name }) => name).join(', ')}.\n`)
  process.exitCode = 2
}

function isWanted({ name }: Bench): boolean {
  return positionals.length === 0 || positionals.includes(name)
}

async function runAll(benches: readonly Bench[]): Promise<number> {
  const rows: Row[] = []
  const skipped: { bench: string; why: string }[] = []
  for (const { name, what, run } of benches) {
    process.stderr.write(`${name}: ${what} …\n`)
    try {
      rows.push(...(await run()).map((result) => ({ bench: name, ...result })))
    } catch (error) {
      if (!(error instanceof Skipped)) throw error
      skipped.push({ bench: name, why: error.message })
    }
  }
  print(values.json ? JSON.stringify({ results: rows.map(toJson), skipped }) : toTable(rows))
  if (!values.json) for (const { bench, why } of skipped) print(`${bench} was skipped: ${why}`)
  return values.strict && rows.some((row) => isMet(row) === false) ? 1 : 0
}

function toJson(row: Row) {
  return { ...row, ratio: ratioOf(row) ?? null, isMet: isMet(row) ?? null }
}

function toTable(rows: readonly Row[]): string {
  return table(
    rows.map((row) => ({
      bench: row.bench,
      what: row.what,
      ours: `${rounded(row.ours)} ${row.unit}`,
      peer: row.peer === undefined ? '' : `${rounded(row.peer)} ${row.unit}`,
      ratio: ratioOf(row)?.toFixed(2) ?? '',
      goal: goalInWords(row),
      'met?': isMet(row) === undefined ? '' : isMet(row) ? 'yes' : 'NO',
    })),
  )
}

function rounded(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 3, useGrouping: false })
}

function print(text: string) {
  process.stdout.write(`${text}\n`)
}
