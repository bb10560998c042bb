/** The program in the network of its own: starts both sides, measures one thing after the other, and prints the results. */
import type { Result } from '../bench.ts'
import { measureDeploys } from './deploys.ts'
import { measureHits } from './hits.ts'
import { measureMany } from './many.ts'
import { measurePurges } from './purges.ts'
import { startSides } from './sides.ts'
import { measureWakes } from './wakes.ts'

const PARTS = {
  deploys: measureDeploys,
  hits: measureHits,
  purges: measurePurges,
  wakes: measureWakes,
  many: measureMany,
}

const ends: (() => unknown)[] = []
const results: Result[] = []
try {
  const sides = await startSides({ after: (end) => void ends.unshift(end) })
  for (const [name, measure] of Object.entries(PARTS)) {
    const began = performance.now()
    results.push(...(await measure(sides)))
    process.stderr.write(`  ${name}: ${Math.round((performance.now() - began) / 1000)} s\n`)
  }
} finally {
  for (const end of ends) await end()
}
process.stdout.write(`${JSON.stringify({ results })}\n`)
