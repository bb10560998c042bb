import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CertificateFacts, isFailing } from './certificates.ts'
import { createCrashLoops, type LiveApp } from './crash-loops.ts'
import { diskFill, isNearlyFull, nearlyFullDisk, nearlyFullQuotas } from './nearly-full.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const ACCOUNT = { id: 'a1', name: 'acme' }

test('what is nearly full begins at 90 % and is over below 85 %', () => {
  assert.equal(isNearlyFull({ used: 89, limit: 100 }, false), false)
  assert.equal(isNearlyFull({ used: 90, limit: 100 }, false), true)
  assert.equal(isNearlyFull({ used: 86, limit: 100 }, true), true)
  assert.equal(isNearlyFull({ used: 84, limit: 100 }, true), false)
  assert.equal(isNearlyFull({ used: 500, limit: 0 }, false), false, 'no limit')
})

test('each quota is a condition of its own, and what is of the moment is none', () => {
  const fill = {
    bytes: { used: 950, limit: 1000 },
    files: { used: 1, limit: 1000 },
    counted: [
      { kind: 'ENVIRONMENTS', used: 9, limit: 10 },
      { kind: 'RUNNING_BUILDS', used: 2, limit: 2 },
    ] as const,
  }
  const found = nearlyFullQuotas(ACCOUNT, fill, [])
  assert.deepEqual(
    found.map(({ key }) => key),
    ['QUOTA_NEARLY_FULL/bytes', 'QUOTA_NEARLY_FULL/ENVIRONMENTS'],
  )
  assert.match(found[0]?.text ?? '', /950 B of 1000 B of its storage, 95 %/)
  assert.match(found[1]?.text ?? '', /9 of 10 of its environments, 90 %/)
})

test('of a disk counts what may be used of it, without the reserve', () => {
  const disk = { ...diskFill({ total: 1000, free: 190, reserve: 100 }), host: 'one' }
  assert.deepEqual(
    nearlyFullDisk([ACCOUNT], disk, []).map(({ accountId, key }) => [accountId, key]),
    [['a1', 'DISK_NEARLY_FULL/one']],
  )
  assert.deepEqual(
    nearlyFullDisk([ACCOUNT], { ...diskFill({ total: 1000, free: 300, reserve: 100 }), host: 'one' }, []),
    [],
  )
})

const NOW = Date.parse('2026-11-18T00:00:00Z')
const failure = { detail: 'The CA found no address.', action: 'Check the DNS records.' }
const acme = (given: Partial<CertificateFacts> = {}): CertificateFacts => ({
  id: 'c1',
  source: 'ACME',
  state: 'RENEWING',
  attempts: 3,
  failure,
  accountId: 'a1',
  names: ['shop.example'],
  notAfter: NOW + 10 * DAY_MS,
  ...given,
})

const CERTIFICATES: [what: string, given: CertificateFacts, others: CertificateFacts[], isFailing: boolean][] = [
  ['a renewal that keeps failing, with ten days left', acme(), [], true],
  ['the same with twenty days left', acme({ notAfter: NOW + 20 * DAY_MS }), [], false],
  ['a renewal that failed once', acme({ attempts: 1 }), [], false],
  ['one that is issued', acme({ state: 'ISSUED', attempts: 0, failure: null }), [], false],
  ['a new name that the CA refuses', acme({ state: 'FAILED', notAfter: null }), [], true],
  ['a new name whose DNS does not lead here yet', acme({ state: 'WAITING_FOR_DNS', notAfter: null }), [], false],
  ['one that has expired as DNS leads elsewhere', acme({ state: 'WAITING_FOR_DNS', notAfter: NOW - 1 }), [], true],
  ['an upload with two weeks left', acme({ source: 'UPLOADED', failure: null, notAfter: NOW + 14 * DAY_MS }), [], true],
  ['an upload with a month left', acme({ source: 'UPLOADED', failure: null, notAfter: NOW + 30 * DAY_MS }), [], false],
  [
    'an upload that another one has replaced',
    acme({ source: 'UPLOADED', failure: null }),
    [acme({ id: 'c2', source: 'UPLOADED', failure: null, notAfter: NOW + 90 * DAY_MS })],
    false,
  ],
]

for (const [what, given, others, expected] of CERTIFICATES) {
  test(`${what} is ${expected ? '' : 'not '}about to fail`, () => {
    assert.equal(isFailing(given, [given, ...others], NOW), expected)
  })
}

const app = (status: LiveApp['status'], deployment = 'd1'): LiveApp => ({
  environmentId: 'e1',
  accountId: 'a1',
  accountName: 'acme',
  appName: 'shop',
  environment: 'Production',
  deployment,
  status,
  siteUrl: 'http://shop.example',
})

test('a crash loop goes on until the app has answered for a while without a restart', () => {
  const loops = createCrashLoops()
  const open = [{ accountId: 'a1', key: 'APP_CRASH_LOOP/d1' }]
  const at = (minutes: number, status: LiveApp['status'], known = open) =>
    loops.conditions([app(status)], known, minutes * MINUTE_MS).map(({ key }) => key)
  assert.deepEqual(at(0, { state: 'RESTARTING', restarts: 4 }, []), [])
  assert.deepEqual(at(1, { state: 'CRASH_LOOP', restarts: 5 }, []), ['APP_CRASH_LOOP/d1'])
  assert.deepEqual(at(2, { state: 'RUNNING', restarts: 5 }), ['APP_CRASH_LOOP/d1'])
  assert.deepEqual(at(5, { state: 'RUNNING', restarts: 6 }), ['APP_CRASH_LOOP/d1'], 'it has crashed in between')
  assert.deepEqual(at(6, { state: 'ASLEEP', restarts: 6 }), ['APP_CRASH_LOOP/d1'], 'none can tell')
  assert.deepEqual(at(7, { state: 'RUNNING', restarts: 6 }), ['APP_CRASH_LOOP/d1'])
  assert.deepEqual(at(9, { state: 'RUNNING', restarts: 6 }), [])
})

test('a crash loop is over when another deployment is live', () => {
  const open = [{ accountId: 'a1', key: 'APP_CRASH_LOOP/d1' }]
  assert.deepEqual(createCrashLoops().conditions([app({ state: 'RUNNING', restarts: 0 }, 'd2')], open, 0), [])
})
