/**
 * The short torture run: the real service under mixed load and faults for half a minute, always with the same seed. The
 * long form is `npm run torture`; see docs/operate/proof.md.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { torture } from '../../../torture/torture.ts'
import { noSmallDisk } from '../../support/machine/small-disk.ts'

const OPTIONS = { seconds: 30, seed: 7, accounts: 2 }

test('under load and faults, nothing that was acknowledged is lost, stuck, crossed, stale or left over', {
  skip: noSmallDisk ?? false,
  timeout: 300_000,
}, async (t) => {
  const { violations, restarts, visits, calls, faults } = await torture(t, OPTIONS)
  t.diagnostic(`${JSON.stringify({ ...OPTIONS, restarts, faults, calls, visits })}`)
  const found = violations.slice(0, 3).map(({ what, about, lines }) => [what, about, ...lines].join('\n'))
  assert.deepEqual(found, [], `seed ${OPTIONS.seed}`)
  // Otherwise the run tested nothing.
  assert.ok(Object.keys(faults).length >= 3 && (calls.acknowledged ?? 0) > 20 && (visits['200'] ?? 0) > 50)
})
