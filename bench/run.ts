/**
 * Runs the measurements and prints one table. A missed goal is reported, and is no failure unless `--strict` is given:
 * a machine that is busy with something else must not turn a build red. A measurement that breaks is a failure.
 *
 *   npm run bench -- [NAME …] [--list] [--json] [--out FILE] [--quick] [--strict]
 */
import { writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { table } from '../src/contract/index.ts'
import { type Bench, goalInWords, isMet, type Result, ratioOf, Skipped } from './bench.ts'
import { BENCHES } from './benches.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean' },
    json: { type: 'boolean' },
    out: { type: 'string' },
    quick: { type: 'boolean' },
    strict: { type: 'boolean' },
  },
})
type Row = Result & { bench: string }
type Unfinished = { bench: string; why: string }

const unknown = positionals.find((name) => !BENCHES.some((bench) => bench.name === name))
if (unknown !== undefined) {
  process.stderr.write(`There is no bench '${unknown}'. There are: ${BENCHES.map(({ name }) => name).join(', ')}.\n`)
  process.exitCode = 2
} else if (values.list) {
  for (const { name, what, noise } of BENCHES.filter(isWanted)) print(`${name}: ${what}\n  noise: ${noise}`)
} else if (process.platform === 'linux') process.exitCode = await runAll(BENCHES.filter(isWanted))
else process.stderr.write('The measurements need /proc, as Linux has it.\n')

function isWanted({ name }: Bench): boolean {
  return positionals.length === 0 || positionals.includes(name)
}

async function runAll(benches: readonly Bench[]): Promise<number> {
  const machine = machineNow()
  const rows: Row[] = []
  const skipped: Unfinished[] = []
  const broken: Unfinished[] = []
  for (const { name, what, noise, run } of benches) {
    process.stderr.write(`${name}: ${what}\n  noise: ${noise}\n`)
    try {
      rows.push(...(await run()).map((result) => ({ bench: name, ...result })))
    } catch (error) {
      const why = (error as Error).message
      if (error instanceof Skipped) skipped.push({ bench: name, why })
      else {
        process.stderr.write(`${(error as Error).stack}\n`)
        broken.push({ bench: name, why })
      }
    }
  }
  const report = JSON.stringify({ machine, results: rows.map(toJson), skipped, broken }, null, 2)
  if (values.out) await writeFile(values.out, `${report}\n`)
  print(values.json ? report : toTable(rows))
  if (!values.json) {
    for (const { bench, why } of skipped) print(`${bench} was skipped: ${why}`)
    for (const { bench, why } of broken) print(`${bench} BROKE: ${why}`)
  }
  return broken.length > 0 || (values.strict && rows.some((row) => isMet(row) === false)) ? 1 : 0
}

/** To compare two tables, one must know on which machines they were made. */
function machineNow() {
  return {
    time: new Date().toISOString(),
    node: process.version,
    architecture: process.arch,
    processors: availableParallelism(),
    model: cpus()[0]?.model ?? '',
    load: loadavg()[0],
    quick: values.quick === true,
  }
}

function toJson(row: Row) {
  return { ...row, ratio: ratioOf(row) ?? null, isMet: isMet(row) ?? null }
}

function toTable(rows: readonly Row[]): string {
  return table(
    rows.map((row) => ({
      bench: row.bench,
      what: row.beside ? `${row.what}, beside ${row.beside}` : row.what,
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
