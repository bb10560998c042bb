/**
 * The short torture run of a whole cluster, always with the same seed. The long form is `npm run torture -- --cluster`; see
 * docs/operate/proof.md.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { openCluster } from '../../torture/cluster/cluster.ts'
import { type OpenSystem, torture } from '../../torture/torture.ts'
import type { Scope } from '../support/folder.ts'
import { NEEDS_REGISTRY } from '../support/images/registry.ts'
import { isLong } from '../support/long.ts'
import { inReverse } from '../support/machine/docker-engine.ts'
import { NEEDS_OWN_NETWORK } from '../support/machine/own-network.ts'
import { NEEDS_SWARM } from '../support/machine/swarm.ts'
import { NEEDS_POSTGRES } from '../support/postgres/server.ts'
import { siteAnswer } from '../support/service/environment.ts'

const skip = NEEDS_OWN_NETWORK.skip || NEEDS_SWARM.skip || NEEDS_REGISTRY.skip || NEEDS_POSTGRES.skip

const AT_LEAST = { faults: 3, acknowledged: 20, pages: 20 }
/** Enough for pages that were stored, then purged or replaced, and asked for again. */
const WITHOUT_FAULTS = { seconds: 15, seed: 3, accounts: 1, atLeast: { faults: 1, acknowledged: 60, pages: 150 } }

const OPTIONS = { seconds: 20, seed: 3, accounts: 2, atLeast: AT_LEAST }

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

test('an edge that ignores purges and deployments is found by the checks', {
  skip: skip || (isLong ? false : 'a test of the test: npm run test:long'),
}, async (t) => {
  const withDeafEdge: OpenSystem = async (scope, world, given) => {
    const system = await openCluster(scope, world, given)
    const [first = '', second = ''] = system.edges()
    const edges = [first, await startDeafEdge(scope, second)]
    // One that does nothing.
    const plan = { ...system.plan, weights: { killBuild: 1 }, meanwhile: { nothing: 1 } }
    return { ...system, pace: 1, plan, edges: () => edges }
  }
  const { violations } = await torture(inReverse(t), { ...WITHOUT_FAULTS, open: withDeafEdge })
  const found = violations.map(({ what }) => what)
  assert.ok(found.length > 0)
  assert.deepEqual(
    found.filter((what) => !/\(edge 2, |^its site shows|^a rebuild made/.test(what)),
    [],
  )
  assert.ok(found.some((what) => /a visitor got (a purged page|version \d+ after)/.test(what)))
})

/** In front of an edge: what it has seen once, it answers for ever. Resolves to its address. */
async function startDeafEdge(t: Scope, edge: string): Promise<string> {
  const stored = new Map<string, string>()
  const server = createServer(async ({ url = '/', headers }, reply) => {
    const key = `${headers.host}${url}`
    const found = stored.get(key)
    if (found !== undefined) return reply.end(found)
    const { status, text } = await siteAnswer({ edge }, `http://${headers.host}`, url)
    if (status === 200) stored.set(key, text)
    reply.writeHead(status).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
