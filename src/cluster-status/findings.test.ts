import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findings } from './findings.ts'
import { createLabels, isSameProcess, shownProcess } from './process-names.ts'
import type { ClusterStatus, ControlStatus, NodeStatus, WorkerStatus } from './status.ts'

const NODE: NodeStatus = {
  id: 'n1',
  hostname: 'berlin-1',
  address: '10.0.0.11',
  region: 'EU-W',
  state: 'ready',
  name: 'berlin-1',
  control: 'c1',
  confirmed: 4,
  isConfirmed: true,
  memoryBytes: 8 * 1024 ** 3,
  promisedBytes: 3 * 1024 ** 3,
  engine: '28.5.2',
  version: '1.2.0',
  instances: 3,
}

const WORKER: WorkerStatus = {
  ...{ process: 'boot 4712 1 b', host: 'builder-1', places: 2, version: '1.2.0' },
  ...{ silentMs: 9000, builds: 1 },
}

const CONTROL: ControlStatus = {
  process: 'c1',
  host: 'control-1',
  version: '1.2.0',
  isLeading: true,
  edges: 1,
  nodes: 1,
}

const WELL: ClusterStatus = {
  isShared: true,
  version: '1.2.0',
  leader: { term: 7, holder: 'control-1 4711 a', silentMs: 1500 },
  controls: [CONTROL, { ...CONTROL, process: 'c2', isLeading: false, edges: 0, nodes: 0 }],
  lastPurge: 100,
  edges: [{ process: 'sydney-1: a 1 1 b', control: 'c1', applied: 90, behind: 10 }],
  workers: [WORKER],
  rules: { revision: 4, edges: 3 },
  nodes: [NODE],
  working: [],
}

const withNode = (change: Partial<NodeStatus>): ClusterStatus => ({
  ...WELL,
  // Another one keeps the region.
  nodes: [
    { ...NODE, id: 'n2', hostname: 'berlin-2', name: 'berlin-2' },
    { ...NODE, ...change },
  ],
})

test('nothing is wrong with a cluster in order, nor with one machine', () => {
  assert.deepEqual(findings(WELL), [])
  const alone = { isShared: false, leader: null, controls: [], edges: [], workers: [], rules: null, nodes: [] }
  assert.deepEqual(findings({ ...WELL, ...alone }), [])
})

const away = { name: '', confirmed: 0, isConfirmed: false }
const CASES: Record<string, [ClusterStatus, RegExp]> = {
  'no control process has ever led': [{ ...WELL, leader: null }, /^control broken no control process has led yet/],
  'the leader is silent': [
    { ...WELL, leader: { term: 7, holder: 'control-1 4711 a', silentMs: 65_000 } },
    /^control broken no control process leads: control-1 4711 a was last seen 65 s ago/,
  ],
  'one control process is left': [{ ...WELL, controls: [CONTROL] }, /^control weaker there is one control process/],
  'a control process has another version': [
    { ...WELL, controls: [CONTROL, { ...CONTROL, process: 'boot 4711 1 b', version: '1.1.0' }] },
    /^control process control-1 4711 weaker it runs Headland 1\.1\.0, and this is 1\.2\.0/,
  ],
  'there is no edge': [{ ...WELL, edges: [] }, /^edges broken no edge follows a control process/],
  'an edge followed a process that is gone': [
    { ...WELL, edges: [{ process: 'e', control: 'gone', applied: 0, behind: 0 }] },
    /^edges weaker 1 of 1 edges followed a control process that is gone/,
  ],
  'there is no worker': [{ ...WELL, workers: [] }, /^workers broken there is no worker, so nothing is built/],
  'a worker is silent': [
    { ...WELL, workers: [WORKER, { ...WORKER, process: 'boot 4713 1 b', silentMs: 61_000 }] },
    /^worker builder-1 4713 weaker it was last seen 61 s ago/,
  ],
  'the only worker is silent': [{ ...WELL, workers: [{ ...WORKER, silentMs: 61_000 }] }, /^workers broken/],
  'a worker has another version': [
    { ...WELL, workers: [{ ...WORKER, version: '1.1.0' }] },
    /^worker builder-1 4712 weaker it runs Headland 1\.1\.0, and this is 1\.2\.0/,
  ],
  'no address may call apps': [
    { ...WELL, rules: { revision: 4, edges: 0 } },
    /^isolation broken no address may call apps .*edgeAddresses/,
  ],
  'a node has a region and no role': [
    withNode(away),
    /^node berlin-1 broken apps of EU-W may be placed there, and the role node does not run.*cluster token node/,
  ],
  'a node does not confirm': [
    withNode({ ...away, name: 'berlin-1' }),
    /^node berlin-1 broken it does not confirm that it keeps apps apart/,
  ],
  'a node has rules of before': [
    withNode({ confirmed: 3, isConfirmed: false }),
    /^node berlin-1 broken it has the rules of revision 3, and not of 4/,
  ],
  'a node is away': [withNode({ state: 'down' }), /^node berlin-1 weaker the swarm does not reach it/],
  'a node is drained': [withNode({ state: 'drain' }), /^node berlin-1 weaker .* --availability active n1$/],
  'a node has no region': [withNode({ region: '' }), /^node berlin-1 weaker .* --label-add region=EU-W n1$/],
  'a node has an old Docker': [withNode({ engine: '24.0.7' }), /^node berlin-1 broken Docker 24\.0\.7 cannot isolate/],
  'a node has another version': [
    withNode({ version: '1.1.0' }),
    /^node berlin-1 weaker it runs Headland 1\.1\.0, and this is 1\.2\.0/,
  ],
}

for (const [what, [status, expected]] of Object.entries(CASES)) {
  test(`it is found, once, that ${what}`, () => {
    const found = findings(status).map(({ part, state, found, advice }) => `${part} ${state} ${found} ${advice}`)
    assert.equal(found.length, 1, found.join('\n'))
    assert.match(found[0] ?? '', expected)
  })
}

test('a region is without apps if none of its nodes is ready and confirmed', () => {
  const parts = (change: Partial<NodeStatus>) =>
    findings({ ...WELL, nodes: [{ ...NODE, ...change }] }).map(({ part }) => part)
  assert.deepEqual(parts({ state: 'down' }), ['region EU-W', 'node berlin-1'])
  assert.deepEqual(parts({ confirmed: 0, isConfirmed: false }), ['region EU-W', 'node berlin-1'])
})

test('nodes without rules are found', () => {
  const nodes = [{ ...NODE, confirmed: 0, isConfirmed: false }]
  assert.match(findings({ ...WELL, rules: null, nodes })[0]?.found ?? '', /nodes have no rules yet/)
})

test('a node of the swarm that has neither a region nor the role is nothing of ours', () => {
  assert.deepEqual(findings(withNode({ ...away, region: '', engine: '', version: '' })), [])
})

test('a process is shown by the name of its token or the start of its machine, and its number', () => {
  const process = '3f2a91c0-1111-4111-8111-111111111111/pid:[4026531836] 4711 123456 token'
  assert.equal(shownProcess(process), '3f2a91c0 4711')
  assert.equal(shownProcess(`sydney-1: ${process}`), 'sydney-1 4711')
  assert.equal(shownProcess('another name'), 'another name')
})

test('parts of one process are the same process, and another one is not', () => {
  const process = '3f2a91c0-1111-4111-8111-111111111111/pid:[4026531836] 4711 123456'
  assert.equal(isSameProcess(`${process} a`, `${process} b`), true)
  assert.equal(isSameProcess(`${process} a`, `${process.replace('4711', '4712')} a`), false)
})

test('a process has the name of its host where that is on record', () => {
  const label = createLabels([
    { process: 'boot 4711 1 a', host: 'control-1' },
    { process: 'boot 4712 1 a', host: '' },
  ])
  assert.equal(label('boot 4711 1 b'), 'control-1 4711')
  assert.equal(label('boot 4712 1 b'), '- 4712')
})
