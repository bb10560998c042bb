/** Runs commands in one process, one after the other, as a shell would. Each argument is the words of one, as JSON. */
import { run } from '../../src/command-line.ts'

for (const words of process.argv.slice(2)) {
  process.stderr.write(`--- ${words}\n`)
  await run(JSON.parse(words))
}
