/**
 * The short torture run of a whole cluster, always with the same seed. The long form is `npm run torture -- --cluster`; see
 * docs/operate/proof.md.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCluster } from '../../torture/cluster/cluster.ts'
import { torture } from '../../torture/torture.ts'
import { NEEDS_REGISTRY } from '../support/images/registry.ts'
import { inReverse } from '../support/machine/docker-engine.ts'
import { NEEDS_OWN_NETWORK } from '../support/machine/own-network.ts'
import { NEEDS_SWARM } from '../support/machine/swarm.ts'
import { NEEDS_POSTGRES } from '../support/postgres/server.ts'

const skip = NEEDS_OWN_NETWORK.skip || NEEDS_SWARM.skip || NEEDS_REGISTRY.skip || NEEDS_POSTGRES.skip

const AT_LEAST = { faults: 3, acknowledged: 20, pages: 50 }
const OPTIONS = { seconds: 25, seed: 3, accounts: 2, atLeast: AT_LEAST }

test('in a cluster under load and faults, nothing that was acknowledged is lost, stuck, crossed, stale or left over', {
  skip,
}, async (t) => {
  const { violations, restarts, visits, calls, faults } = await torture(inReverse(t), { ...OPTIONS, open: openCluster })
  t.diagnostic(`${JSON.stringify({ ...OPTIONS, restarts, faults, calls, visits })}`)
  const found = violations.slice(0, 3).map(({ what, about, lines }) => [what, about, ...lines].join('\n'))
  assert.deepEqual(found, [], `seed ${OPTIONS.seed}`)
  assert.ok(Object.keys(faults).length >= AT_LEAST.faults)
  assert.ok((calls.acknowledged ?? 0) >= AT_LEAST.acknowledged && (visits['200'] ?? 0) >= AT_LEAST.pages)
})
