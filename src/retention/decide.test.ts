import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../test/support/fuzz.ts'
import { decide, type KnownBuild, type KnownDeployment } from './decide.ts'

/** Deployment d3 is of build b3, which is of archive a3, and stopped being live at 3. */
const retired = (number: number, more: Partial<KnownDeployment> = {}): KnownDeployment => ({
  id: `d${number}`,
  buildId: `b${number}`,
  archive: `a${number}`,
  state: 'RETIRED',
  retireTime: number,
  isWanted: false,
  isRunning: false,
  ...more,
})
const live = (number: number) => retired(number, { state: 'LIVE', retireTime: null })
const built = (number: number, more: Partial<KnownBuild> = {}): KnownBuild => ({
  id: `b${number}`,
  isOver: true,
  hasOutput: true,
  hasPackages: false,
  ...more,
})

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index)

const discarded = (decision: ReturnType<typeof decide>): string[] =>
  decision.discard.map(({ deployment }) => deployment)

test('the live deployment and the last five before it stay, and the rest goes', () => {
  const decision = decide({
    liveDeployment: 'd9',
    deployments: [...range(1, 8).map((number) => retired(number)), live(9)],
    builds: range(1, 9).map((number) => built(number)),
    keepDeployments: 5,
  })
  assert.deepEqual(discarded(decision), ['d1', 'd2', 'd3'])
  assert.deepEqual(decision.outputs, ['b1', 'b2', 'b3'])
  assert.deepEqual(
    decision.keep.map(({ deployment, because }) => `${deployment} ${because}`),
    ['d4 RECENT', 'd5 RECENT', 'd6 RECENT', 'd7 RECENT', 'd8 RECENT', 'd9 LIVE'],
  )
})

test('the last ones are those that served last, not those that were made last', () => {
  const decision = decide({
    liveDeployment: 'd4',
    deployments: [retired(1, { retireTime: 99 }), retired(2), retired(3), live(4)],
    builds: range(1, 4).map((number) => built(number)),
    keepDeployments: 1,
  })
  assert.deepEqual(discarded(decision), ['d2', 'd3'])
})

test('a live deployment stays however old it is', () => {
  const decision = decide({
    liveDeployment: 'd1',
    deployments: [live(1), ...range(2, 9).map((number) => retired(number))],
    builds: range(1, 9).map((number) => built(number)),
    keepDeployments: 1,
  })
  assert.ok(!discarded(decision).includes('d1'))
  assert.ok(!decision.outputs.includes('b1'))
})

for (const why of ['isWanted', 'isRunning'] as const) {
  test(`an old deployment that ${why === 'isWanted' ? 'an operation is about' : 'still runs'} stays`, () => {
    const decision = decide({
      liveDeployment: 'd9',
      deployments: [retired(1, { [why]: true }), ...range(2, 8).map((number) => retired(number)), live(9)],
      builds: range(1, 9).map((number) => built(number)),
      keepDeployments: 2,
    })
    assert.deepEqual(discarded(decision), ['d2', 'd3', 'd4', 'd5', 'd6'])
    assert.ok(!decision.outputs.includes('b1'))
  })
}

test('a deployment that never answered goes, and does not count', () => {
  const decision = decide({
    liveDeployment: 'd4',
    deployments: [retired(1), retired(2, { state: 'FAILED' }), retired(3, { state: 'STARTING' }), live(4)],
    builds: range(1, 4).map((number) => built(number)),
    keepDeployments: 1,
  })
  assert.deepEqual(decision.discard, [
    { deployment: 'd2', because: 'NEVER_LIVE' },
    { deployment: 'd3', because: 'NEVER_LIVE' },
  ])
})

test('an output stays as long as one of its deployments does', () => {
  const decision = decide({
    liveDeployment: 'd3',
    deployments: [retired(1), retired(2), { ...live(3), buildId: 'b1' }],
    builds: [built(1), built(2)],
    keepDeployments: 1,
  })
  assert.deepEqual(discarded(decision), ['d1'])
  assert.deepEqual(decision.outputs, [])
})

test('a build that is not over keeps what it has', () => {
  const unfinished = built(2, { isOver: false, hasPackages: true })
  const decision = decide({
    liveDeployment: 'd1',
    deployments: [live(1)],
    builds: [built(1), unfinished],
    keepDeployments: 1,
  })
  assert.deepEqual([decision.outputs, decision.packages], [[], []])
})

test('a build without a deployment gives up its output', () => {
  const decision = decide({ liveDeployment: null, deployments: [], builds: [built(1)], keepDeployments: 5 })
  assert.deepEqual(decision.outputs, ['b1'])
})

test('of builds that give up their output, the last one with packages keeps them for the next', () => {
  const decision = decide({
    liveDeployment: null,
    deployments: [],
    builds: range(1, 3).map((number) => built(number, { hasOutput: false, hasPackages: true })),
    keepDeployments: 5,
  })
  assert.deepEqual(decision.packages, ['b1', 'b2'])
})

test('if everything is to be kept, nothing is discarded', () => {
  const decision = decide({
    liveDeployment: 'd3',
    deployments: [retired(1), retired(2), live(3)],
    builds: range(1, 3).map((number) => built(number, { hasPackages: true })),
    keepDeployments: 5,
  })
  assert.deepEqual([decision.discard, decision.outputs, decision.packages], [[], [], []])
})

const kept = (decision: ReturnType<typeof decide>): string[] => decision.keep.map(({ deployment }) => deployment)

test('five rebuilds for new content do not push out the upload before', () => {
  const content = range(2, 7).map((number) => retired(number, { archive: 'a2' }))
  const decision = decide({
    liveDeployment: 'd8',
    deployments: [retired(1), ...content, { ...live(8), archive: 'a2' }],
    builds: range(1, 8).map((number) => built(number)),
    keepDeployments: 5,
  })
  assert.deepEqual(kept(decision), ['d1', 'd4', 'd5', 'd6', 'd7', 'd8'])
})

test('of each archive the newest build stays, and the others go first', () => {
  const of = (archive: string, ...numbers: number[]) => numbers.map((number) => retired(number, { archive }))
  const decision = decide({
    liveDeployment: 'd9',
    deployments: [...of('a', 1, 2, 3), ...of('b', 4, 5), ...of('c', 6, 7, 8), live(9)],
    builds: range(1, 9).map((number) => built(number)),
    keepDeployments: 3,
  })
  assert.deepEqual(kept(decision), ['d3', 'd5', 'd8', 'd9'])
})

test('the deployment that was live before stays, also where archives take all places', () => {
  const decision = decide({
    liveDeployment: 'd4',
    deployments: [retired(1), retired(2), retired(3, { archive: 'x' }), { ...live(4), archive: 'x' }],
    builds: range(1, 4).map((number) => built(number)),
    keepDeployments: 1,
  })
  assert.deepEqual(kept(decision), ['d2', 'd3', 'd4'])
})

test('however uploads, rebuilds and rollbacks follow each other, the last archives can be made live', async () => {
  const history = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), fc.nat(3)), {
    minLength: 1,
    maxLength: 40,
  })
  await holds(
    fc.property(history, fc.nat(6), (rounds, keepDeployments) => {
      // Each round is an archive and how many builds of it were live, one after another; a letter may come again, as a rollback.
      const all = rounds.flatMap(([archive, more]) => Array.from({ length: more + 1 }, () => archive))
      const padded = (index: number) => String(index).padStart(3, '0')
      const deployments = all.map((archive, index) => {
        const isLive = index === all.length - 1
        return {
          ...(isLive ? live(index) : retired(index)),
          id: `d${padded(index)}`,
          buildId: `b${padded(index)}`,
          archive,
        }
      })
      const last = deployments.at(-1) as KnownDeployment
      const decision = decide({ liveDeployment: last.id, deployments, builds: [], keepDeployments })
      const keeps = new Set(kept(decision))
      const others = [...new Set(all.toReversed())].filter((archive) => archive !== last.archive)
      for (const archive of others.slice(0, keepDeployments)) {
        const newest = deployments.findLast((one) => one.archive === archive)
        assert.ok(keeps.has(newest?.id ?? ''), `the newest build of ${archive}`)
      }
      assert.ok(keeps.has(last.id))
      assert.ok(keepDeployments === 0 || deployments.length < 2 || keeps.has(deployments.at(-2)?.id ?? ''))
      assert.ok(keeps.size <= keepDeployments + 2, 'one live, one before, and as many as are to be kept')
      assert.equal(keeps.size + decision.discard.length, deployments.length)
    }),
    300,
  )
})

test('the newest held deployment stays with its output, beside those that were live', () => {
  const held = (number: number) => retired(number, { state: 'HELD', retireTime: null })
  const decision = decide({
    liveDeployment: 'd2',
    deployments: [retired(1), live(2), held(3), held(4)],
    builds: range(1, 4).map((number) => built(number)),
    keepDeployments: 1,
  })
  assert.deepEqual(discarded(decision), ['d3'])
  assert.deepEqual(decision.outputs, ['b3'])
  assert.deepEqual(
    decision.keep.map(({ deployment, because }) => `${deployment} ${because}`),
    ['d1 RECENT', 'd2 LIVE', 'd4 HELD'],
  )
})
