import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Activity, Environment, TrafficPoint } from '../../../client/index.ts'
import type { Watched } from '../../all-environments.ts'
import { lineWidth, textOf } from '../live/lines.ts'
import { describe, type State } from './environment-state.ts'
import { ratesOf, type Sample, within } from './rates.ts'
import { countsInWords, statusJson, statusLines } from './status-view.ts'
import { busiest, topLines, totalsInWords } from './top-view.ts'

const NOW = Date.parse('2026-01-01T12:00:30Z')
const at = (secondsAgo: number) => new Date(NOW - secondsAgo * 1000).toISOString()

const nameOf = (app: string) => `accounts/default/apps/${app}/environments/e-${app}`

function watched(app: string, facts: object = {}, activity: object = {}): Watched {
  const environment = {
    name: nameOf(app),
    displayName: 'Production',
    state: 'LIVE',
    url: `https://${app}.example.com`,
    createTime: at(9000),
    updateTime: at(8000),
    ...facts,
  } as unknown as Environment
  const doing = {
    name: `${nameOf(app)}/activity`,
    liveTime: at(7200),
    commit: null,
    memoryBytes: 0,
    points: [],
    ...activity,
  }
  return { environment, activity: doing as unknown as Activity }
}

const build = (state: string, more: object = {}) => ({
  latestBuild: { state, phase: 'BUILDING', createTime: at(60), ...more },
})

const ALL: readonly Watched[] = [
  watched('live', {}, { commit: { sha: 'c0ffee0c0ffee0c0ffee0c0ffee0c0ffee0c0ffe', branch: 'main' } }),
  watched('empty', { state: 'EMPTY' }, { liveTime: undefined }),
  watched('building', build('RUNNING')),
  watched('asleep', {}, { instance: 'ASLEEP' }),
  watched('failed', build('FAILED', { finishTime: at(120), reason: 'INSTALL_FAILED' })),
  watched('crashing', {}, { instance: 'CRASH_LOOP' }),
  watched('held', { held: { createTime: at(300), message: 'The output lacks 40 pages.' }, ...build('SUCCEEDED') }),
  watched('deleting', { state: 'DELETING' }),
  watched('changing', { reconciling: true, latestOperation: { createTime: at(3) } }),
]

test('the state of an environment is one word, out of its builds, its deployment and its app', () => {
  for (const one of ALL) assert.equal(describe(one).state, one.environment.name.split('/')[3])
  assert.deepEqual(describe(watched('x', build('QUEUED', { phase: 'QUEUED' }))), {
    state: 'building',
    since: at(60),
    about: 'queued',
  })
})

test('what needs a look is first, with since when and why, and a deployment with its age, commit and address', () => {
  const lines = statusLines(ALL, { isShown: true, columns: 140, nowMs: NOW }).map(textOf)
  const order: State[] = ['crashing', 'failed', 'held', 'building', 'changing', 'live', 'asleep', 'empty', 'deleting']
  assert.deepEqual(
    lines.slice(1).map((line) => line.split(' ')[0]),
    order,
  )
  assert.match(lines[2] ?? '', /^failed +Production +✗ failed +2 min ago +2 h ago +https:\S+ +INSTALL_FAILED$/)
  assert.match(
    lines[6] ?? '',
    /^live +Production +✓ live +2 h ago +2 h ago +c0ffee0 main +https:\/\/live\.example\.com$/,
  )
  assert.equal(countsInWords([...ALL.slice(0, 1), ...ALL.slice(0, 1), ...ALL.slice(4, 5)]), '1 failed, 2 live')
})

test('a narrow terminal keeps the states and addresses, and no line is wider than it', () => {
  const lines = statusLines(ALL, { isShown: true, columns: 78, nowMs: NOW })
  for (const line of lines) assert.ok(lineWidth(line) <= 78, textOf(line))
  assert.match(lines.map(textOf)[2] ?? '', /✗ failed.*https:\/\/failed\.example\.com$/)
})

test('a name cannot leave its line, and a pipe gets whole times and no marks', () => {
  const hostile = watched('live', { displayName: 'a\x1b[2J\nb' })
  const lines = statusLines([hostile], { isShown: false, columns: 80, nowMs: NOW }).map(textOf)
  assert.equal(lines.length, 2)
  assert.match(lines[1] ?? '', new RegExp(`^live +a b +live +${at(7200)} `))
})

test('programs get the same facts under names', () => {
  const [first] = statusJson(ALL.slice(4, 5))
  assert.deepEqual(first, {
    name: nameOf('failed'),
    app: 'failed',
    environment: 'Production',
    state: 'failed',
    since: at(120),
    about: 'INSTALL_FAILED',
    deployment: undefined,
    deployed: at(7200),
    commit: null,
    url: 'https://failed.example.com',
  })
})

test('a service of an earlier version says nothing of what an environment does, and its state is shown all the same', () => {
  const { environment } = watched('old')
  assert.deepEqual(describe({ environment }), { state: 'live', since: '', about: '' })
  assert.equal(statusLines([{ environment }], { isShown: true, columns: 80, nowMs: NOW }).length, 2)
})

const MINUTE = Date.parse('2026-01-01T12:00:00Z')
const NAME = `${nameOf('shop')}/activity`

/** The requests of the last minute and of the current one, of which half are hits. */
function sample(seconds: number, [before, now]: [number, number], minute = MINUTE): Sample {
  const pointOf = (start: number, requests: number) =>
    ({
      time: new Date(start).toISOString(),
      requests,
      hits: requests / 2,
      errors: 0,
      p95Ms: 12,
    }) as TrafficPoint
  return {
    atMs: minute + seconds * 1000,
    points: new Map([[NAME, [pointOf(minute - 60_000, before), pointOf(minute, now)]]]),
  }
}

test('one sample alone gives the rate of its two minutes', () => {
  const { visitsPerSecond, hitPercent, p95Ms } = ratesOf([sample(30, [90, 90])], NAME)
  assert.deepEqual([visitsPerSecond, hitPercent, p95Ms], [2, 50, 12])
})

test('several samples give the rate between them, also over the end of a minute', () => {
  assert.equal(ratesOf([sample(30, [90, 100]), sample(40, [90, 150])], NAME).visitsPerSecond, 5)
  const over = [sample(55, [90, 100]), sample(5, [130, 20], MINUTE + 60_000)]
  assert.equal(ratesOf(over, NAME).visitsPerSecond, 5, '30 in the minute that ended, and 20 since')
})

test('a service that forgot its counts makes no rate below zero, and an environment without a sample has none', () => {
  assert.equal(ratesOf([sample(30, [90, 100]), sample(40, [90, 3])], NAME).visitsPerSecond, 0)
  assert.deepEqual(ratesOf([sample(30, [1, 1])], 'another'), {
    visitsPerSecond: 0,
    hitPercent: undefined,
    errorsPerSecond: 0,
    p95Ms: 0,
  })
})

test('samples are kept for as long as a rate is counted over', () => {
  const all = [0, 2, 4, 12, 14].map((seconds) => sample(seconds, [0, 0]))
  assert.deepEqual(
    within(all, MINUTE + 14_000).map(({ atMs }) => (atMs - MINUTE) / 1000),
    [4, 12, 14],
  )
})

test('environments are sorted by the column that is wanted, and the account is summed up', () => {
  const all = [watched('shop', {}, { memoryBytes: 5e6 }), watched('blog', {}, { memoryBytes: 50e6 })]
  const samples = [sample(30, [90, 90])]
  const appsBy = (sort: Parameters<typeof busiest>[2]) => busiest(all, samples, sort).map(({ app }) => app)
  assert.deepEqual(
    [appsBy('visits'), appsBy('memory'), appsBy('name')],
    [
      ['shop', 'blog'],
      ['blog', 'shop'],
      ['blog', 'shop'],
    ],
  )
  const lines = topLines(busiest(all, samples, 'visits'), { isShown: true, columns: 100 }).map(textOf)
  assert.match(lines[1] ?? '', /^shop +Production +✓ live +2\.0 +50% +0\.0 +12 ms +4\.8 MB$/)
  assert.match(
    totalsInWords(busiest(all, samples, 'visits')),
    /^2\.0 visits\/s · 50% from the edge · 0\.0 errors\/s · 52/,
  )
})
