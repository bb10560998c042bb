import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { Problem, resources } from '../contract/index.ts'
import { badgeState, createBadges } from './badges.ts'
import { COLOURS, drawBadge } from './svg.ts'

const ID = '01a1df1b-dc8d-76d9-8c01-a1b0dc8fbb67'
const AT = { account: 'acme', app: 'Shop', environment: ID }

/** Badges over records that a test changes, with a count of how often they were read. */
function open() {
  const clock = handClock()
  const state = { isOn: true, build: 'SUCCEEDED' as resources.BuildState, reads: 0 }
  const parts = {
    clock,
    accounts: { namesOf: async () => new Map([['a1', 'acme']]) },
    environments: {
      withBadge: async (id: string) => {
        state.reads++
        const found = { accountId: 'a1', appName: 'shop', displayName: 'Production', state: 'LIVE' as const }
        return state.isOn && id === ID ? found : undefined
      },
    },
    builds: { latestOf: async () => new Map([[ID, { state: state.build }]]) },
    deployments: { heldOf: async () => new Map() },
  }
  return { clock, state, badges: createBadges(parts as unknown as Parameters<typeof createBadges>[0]) }
}

const reasonOf = (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    (error) => {
      assert.ok(error instanceof Problem)
      return error.reason
    },
  )

test('what a badge shows follows from the environment, its newest build and what is held', () => {
  assert.equal(badgeState('EMPTY', undefined, false), 'never deployed')
  assert.equal(badgeState('EMPTY', 'QUEUED', false), 'building')
  assert.equal(badgeState('EMPTY', 'FAILED', false), 'failing')
  assert.equal(badgeState('LIVE', 'SUCCEEDED', false), 'live')
  assert.equal(badgeState('LIVE', 'CANCELLED', false), 'live')
  assert.equal(badgeState('LIVE', 'RUNNING', true), 'building')
  assert.equal(badgeState('LIVE', 'FAILED', false), 'failing')
  assert.equal(badgeState('LIVE', 'SUCCEEDED', true), 'held')
})

test('a thousand requests for a badge, or for one that is not there, are one look-up, until a few seconds have passed', async () => {
  const { clock, state, badges } = open()
  const shown = await Promise.all(Array.from({ length: 1000 }, () => badges.of(AT, '192.0.2.1')))
  assert.equal(state.reads, 1)
  assert.equal(new Set(shown.map(({ etag }) => etag)).size, 1)
  state.build = 'FAILED'
  assert.match((await badges.of(AT, '192.0.2.1')).svg, /: live"/)
  await clock.advance(2_000)
  assert.match((await badges.of(AT, '192.0.2.1')).svg, /: failing"/)

  state.isOn = false
  await clock.advance(2_000)
  const reasons = await Promise.all(Array.from({ length: 1000 }, () => reasonOf(badges.of(AT, '192.0.2.1'))))
  assert.deepEqual([...new Set(reasons)], ['ENVIRONMENT_NOT_FOUND'])
  assert.equal(state.reads, 3)
})

test('one network cannot make the service look up without end, and others are answered meanwhile', async () => {
  const { state, badges } = open()
  const asked = await Promise.all(
    Array.from({ length: 1000 }, (_, n) => reasonOf(badges.of({ ...AT, environment: `no ${n}` }, '192.0.2.1'))),
  )
  assert.equal(asked.filter((reason) => reason === 'ENVIRONMENT_NOT_FOUND').length, 300)
  assert.equal(asked.filter((reason) => reason === 'TOO_MANY_BADGES').length, 700)
  assert.equal(state.reads, 300)
  assert.equal(await reasonOf(badges.of(AT, '192.0.2.2')), undefined)
})

test('a badge is of its account and app only, whatever the case of the app', async () => {
  const { badges } = open()
  assert.equal(await reasonOf(badges.of({ ...AT, app: 'SHOP' }, '::1')), undefined)
  assert.equal(await reasonOf(badges.of({ ...AT, account: 'other' }, '::1')), 'ENVIRONMENT_NOT_FOUND')
  assert.equal(await reasonOf(badges.of({ ...AT, app: 'blog' }, '::1')), 'ENVIRONMENT_NOT_FOUND')
})

test('a name cannot break out of the picture, and readers of screens get it with the state', () => {
  const svg = drawBadge(`a"b'<script>&\u0007${'é'.repeat(60)}`, 'held')
  assert.ok(!svg.includes('<script') && !svg.includes('\u0007'))
  assert.match(svg, /role="img" aria-label="a&quot;b&#39;&lt;script&gt;&amp;é+…: held"/)
  assert.match(svg, /<title>.*: held<\/title>/)
})

test('white text is readable on every colour', () => {
  const channel = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
  for (const colour of Object.values(COLOURS)) {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) =>
      channel(Number.parseInt(colour.slice(at, at + 2), 16) / 255),
    )
    const contrast = 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
    assert.ok(contrast >= 4.5, `${colour}: ${contrast}`)
  }
  assert.deepEqual(Object.keys(COLOURS).slice(1), [...resources.BADGE_STATES])
})
