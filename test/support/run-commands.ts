/**
 * Runs commands in one process, one after the other, as a shell would, and reports the exit code of each. Each argument is a
 * JSON array with the words of one command.
 */
import { run } from '../../src/command-line.ts'

for (const words of process.argv.slice(2)) {
  process.stderr.write(`--- ${words}\n`)
  const code = await run(JSON.parse(words))
  process.stderr.write(`=== ${code}\n`)
}
