import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cluster } from '../../api/types.ts'
import { lagState, nodeState, overallState, partsInWords, promisedShare, restWords, workerState } from './words.ts'

const NODE: Cluster['nodes'][number] = {
  name: 'berlin-1',
  address: '10.0.0.11',
  region: 'EU-W',
  state: 'ready',
  confirmed: true,
  instances: 3,
  memoryBytes: 8,
  promisedBytes: 2,
  engine: '28.5.2',
  version: '1.2.0',
}

const COUNTS: Cluster['counts'] = { controls: 0, edges: 0, workers: 0, nodes: 0, work: 0, findings: 0 }
const weaker = { part: 'control', state: 'weaker', found: '', advice: '' } as const
const broken = { ...weaker, state: 'broken' } as const

test('the worst that was found is beside the title', () => {
  assert.equal(overallState({ findings: [], counts: COUNTS }).tone, 'good')
  assert.deepEqual(overallState({ findings: [weaker], counts: { ...COUNTS, findings: 1 } }), {
    tone: 'warn',
    word: '1 to look at',
  })
  assert.deepEqual(overallState({ findings: [broken, weaker], counts: { ...COUNTS, findings: 2 } }), {
    tone: 'bad',
    word: '1 broken',
  })
})

test('a node is ready if the swarm reaches it and it keeps apps apart', () => {
  const word = (change: Partial<typeof NODE>) => nodeState({ ...NODE, ...change }).word
  assert.equal(word({}), 'Ready')
  assert.equal(word({ confirmed: false }), 'Not confirmed')
  assert.equal(word({ state: 'down', confirmed: false }), 'Away')
  assert.equal(word({ state: 'drain' }), 'Drained')
  assert.equal(word({ state: '' }), 'Joining')
  assert.equal(word({ region: '', version: '', confirmed: false }), 'Not used')
})

test('a worker is idle, builds, or was not seen for a while', () => {
  const word = (change: Partial<Cluster['workers'][number]>) =>
    workerState({ process: 'p', builds: 1, places: 2, silentSeconds: 3, ...change }).word
  assert.equal(word({}), '1 of 2 builds')
  assert.equal(word({ builds: 0 }), 'Idle')
  assert.equal(word({ silentSeconds: 300 }), 'Last seen 5 min ago')
  assert.equal(workerState({ process: 'p', builds: 2, silentSeconds: 0 }).word, '2 builds')
})

test('an edge says how far it may be behind', () => {
  assert.equal(lagState(0).word, 'Up to date')
  assert.equal(lagState(1200).word, '1,200 purges behind at most')
})

test('memory that is not known is not shared out', () => {
  assert.equal(promisedShare(NODE), 0.25)
  assert.equal(promisedShare({ promisedBytes: 5, memoryBytes: 0 }), 0)
})

test('a list that is cut says so', () => {
  assert.equal(restWords(200, 200), '')
  assert.equal(restWords(200, 1234), 'The first 200 of 1,234.')
})

test('the parts of an installation are counted in words', () => {
  assert.equal(
    partsInWords({ counts: { ...COUNTS, controls: 2, edges: 1, nodes: 3 } }),
    '2 control processes, 1 edge, 3 nodes',
  )
})
