/** The measurements run, and print complete results. No test asserts their numbers. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { BENCHES } from '../bench/benches.ts'
import { temporaryFolder } from './support/folder.ts'
import { TIMEOUT_MS } from './support/until.ts'

const RUN = fileURLToPath(new URL('../bench/run.ts', import.meta.url))
const bench = (...args: string[]) => promisify(execFile)(process.execPath, [RUN, ...args], { timeout: TIMEOUT_MS })

test('every measurement has a name of its own, and says what it measures and how noise is kept out', async () => {
  assert.equal(new Set(BENCHES.map(({ name }) => name)).size, BENCHES.length)
  const { stdout } = await bench('--list')
  for (const { name, what, noise } of BENCHES) assert.ok(stdout.includes(`${name}: ${what}\n  noise: ${noise}\n`), name)
})

test('a measurement by name prints ours, the peer and the ratio, as a table and as JSON', async (t) => {
  const file = join(await temporaryFolder(t), 'results.json')
  const { stdout } = await bench('operation-read', '--quick', '--out', file)
  assert.match(
    stdout,
    /^BENCH +WHAT +OURS +PEER +RATIO +GOAL +MET\?\noperation-read +requests +[\d.]+ \/s +[\d.]+ \/s +\d+\.\d\d/,
  )
  const { machine, results, skipped, broken } = JSON.parse(await readFile(file, 'utf8'))
  assert.deepEqual([machine.quick, skipped, broken], [true, [], []])
  for (const { bench: name, ours, peer, ratio } of results) {
    assert.equal(name, 'operation-read')
    assert.ok(ours > 0 && peer > 0)
    assert.equal(ratio, ours / peer)
  }
})

test('an unknown name is answered with the list of measurements', async () => {
  await assert.rejects(bench('nonsense'), { code: 2, stderr: /no bench 'nonsense'.*operation-read, start/ })
})
