import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_LISTED, toResource } from './resource.ts'
import type { ClusterStatus, NodeStatus } from './status.ts'

const NODE: NodeStatus = {
  ...{ id: 'n', hostname: 'berlin', address: '10.0.0.1', region: 'EU-W', state: 'ready', name: 'berlin', control: 'c' },
  ...{ confirmed: 1, isConfirmed: true, memoryBytes: 8, promisedBytes: 2, engine: '28', version: '1', instances: 1 },
}
const many = <T>(make: (at: number) => T): T[] => Array.from({ length: 5000 }, (_, at) => make(at))

const LARGE: ClusterStatus = {
  ...{ isShared: true, version: '1', lastPurge: 5000, rules: null },
  leader: { term: 3, holder: 'control-1 4711 secret', silentMs: 1499 },
  controls: many((at) => ({
    ...{ process: `boot ${at} 1 t`, host: 'control-1', version: '1' },
    ...{ isLeading: at === 0, edges: 0, nodes: 0 },
  })),
  edges: many((at) => ({ process: `boot ${at} 1 t`, control: 'boot 0 1 t', applied: 0, behind: at })),
  workers: many((at) => ({
    process: `boot ${at + 5000} 1 t`,
    host: 'builder-1',
    places: 2,
    version: '1',
    silentMs: 0,
    builds: 0,
  })),
  nodes: many((at) => ({ ...NODE, id: `n${at}` })),
  working: many((at) => ({
    ...{ id: `o${at}`, owner: 'boot 1 1 t', queue: 'build', trigger: 'UPLOAD', phase: 'BUILDING' },
    ...{ account: 'a1', app: 'blog', environment: 'e1' },
  })),
}

test('of each kind a bounded number is listed, and all are counted', () => {
  const findings = many((at) => ({
    ...{ part: `node ${at}`, found: 'x', advice: 'y' },
    state: at === 4999 ? ('broken' as const) : ('weaker' as const),
  }))
  const shown = toResource({ status: LARGE, findings, accounts: new Map([['a1', 'acme']]) })
  for (const list of ['controls', 'edges', 'workers', 'nodes', 'work', 'findings'] as const) {
    assert.equal(shown[list].length, MAX_LISTED, list)
    assert.equal(shown.counts[list], 5000, list)
  }
  // What matters most is among them.
  assert.equal(shown.findings[0]?.part, 'node 4999')
  assert.equal(shown.edges[0]?.behind, 4999)
  assert.ok(JSON.stringify(shown).length < 200_000)
})

test('names of processes are those that people read, and operations have their resource names', () => {
  const shown = toResource({ status: LARGE, findings: [], accounts: new Map([['a1', 'acme']]) })
  assert.deepEqual(shown.leader, { process: 'control-1 4711', term: 3, silentSeconds: 1 })
  assert.equal(shown.work[0]?.operation, 'accounts/acme/apps/blog/environments/e1/operations/o0')
  assert.doesNotMatch(JSON.stringify(shown), /secret| 1 t"/)
})
