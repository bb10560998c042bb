/**
 * The short torture run: the real service under mixed load and faults for some seconds, and until enough has happened, always with
 * the same seed. The long form is `npm run torture`; see docs/operate/proof.md.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { torture } from '../../../torture/torture.ts'
import { rounds } from '../../support/long.ts'
import { noSmallDisk } from '../../support/machine/small-disk.ts'

const AT_LEAST = { faults: 3, acknowledged: 10, pages: 30 }
const OPTIONS = { seconds: rounds({ short: 12, long: 30 }), seed: 7, accounts: 2, atLeast: AT_LEAST }

test('under load and faults, nothing that was acknowledged is lost, stuck, crossed, stale or left over', {
  skip: noSmallDisk ?? false,
}, async (t) => {
  const { violations, restarts, visits, calls, faults } = await torture(t, OPTIONS)
  t.diagnostic(`${JSON.stringify({ ...OPTIONS, restarts, faults, calls, visits })}`)
  const found = violations.slice(0, 3).map(({ what, about, lines }) => [what, about, ...lines].join('\n'))
  assert.deepEqual(found, [], `seed ${OPTIONS.seed}`)
  assert.ok(Object.keys(faults).length >= AT_LEAST.faults)
  assert.ok((calls.acknowledged ?? 0) >= AT_LEAST.acknowledged && (visits['200'] ?? 0) >= AT_LEAST.pages)
})
