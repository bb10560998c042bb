import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../contract/index.ts'
import type { Digest } from '../../storage/index.ts'
import { noticesOf, type OperationEnd } from './decide.ts'
import { type BuildFacts, buildNoticeText } from './texts.ts'

const end = (given: Partial<OperationEnd> = {}): OperationEnd => ({
  trigger: 'UPLOAD',
  buildId: 'b1',
  reason: null,
  requestedBy: { kind: 'USER', name: 'ada@example.com' },
  isUnchanged: false,
  retry: undefined,
  ...given,
})
const SERVICE = { kind: 'SERVICE', name: 'Headland' } as const
const COMING = { buildId: 'b1', nextTime: 1 }

const ENDS: [what: string, OperationEnd, ReturnType<typeof noticesOf>][] = [
  ['a build that goes live', end(), ['BUILD_RECOVERED', 'BUILD_LIVE']],
  ['a build with the same output', end({ isUnchanged: true }), ['BUILD_RECOVERED']],
  ['a failure', end({ reason: 'BUILD_SCRIPT_FAILED' }), ['BUILD_FAILED']],
  ['a cancelled build', end({ reason: 'OPERATION_CANCELLED' }), []],
  ['an upload in whose place a newer one came', end({ reason: 'SUPERSEDED' }), []],
  ['one that was abandoned', end({ reason: 'OPERATION_ABANDONED' }), ['BUILD_FAILED']],
  ['a failure that is retried', end({ trigger: 'REBUILD', reason: 'CMS_UNREACHABLE', retry: COMING }), []],
  [
    'a failed retry of it, for whatever reason',
    end({ trigger: 'REBUILD', reason: 'TYPE_ERROR', requestedBy: SERVICE, retry: { buildId: 'b0', nextTime: 1 } }),
    [],
  ],
  [
    'the last of its retries',
    end({ reason: 'CMS_UNREACHABLE', requestedBy: SERVICE, retry: { buildId: 'b1', nextTime: null } }),
    ['BUILD_FAILED'],
  ],
  [
    'an upload that fails while an earlier build is retried',
    end({ reason: 'TYPE_ERROR', retry: { buildId: 'b0', nextTime: 1 } }),
    ['BUILD_FAILED'],
  ],
  ['a held build', end({ trigger: 'REBUILD', reason: 'SUSPICIOUS_OUTPUT', retry: COMING }), ['BUILD_FAILED']],
  [
    'a held build that the service requested again',
    end({ reason: 'SUSPICIOUS_OUTPUT', requestedBy: SERVICE, retry: COMING }),
    [],
  ],
  ['a retry that is held by its pages', end({ reason: 'CHECK_FAILED', requestedBy: SERVICE }), ['BUILD_FAILED']],
  ['one that is built again', end({ reason: 'CHECK_FAILED', requestedBy: SERVICE, retry: COMING }), []],
  ['a deployment that a user makes live', end({ trigger: 'ACTIVATE' }), ['BUILD_LIVE']],
  ['one that could not be made live', end({ trigger: 'ACTIVATE', reason: 'START_CRASHED' }), []],
  ['an output that a user promotes', end({ trigger: 'PROMOTE' }), ['BUILD_LIVE']],
  ['a change of variables', end({ trigger: 'UPDATE' }), []],
]

for (const [what, given, expected] of ENDS) {
  test(`${what}: ${expected.join(' and ') || 'no notice'}`, () => assert.deepEqual(noticesOf(given), expected))
}

const facts = (given: Partial<BuildFacts> = {}): BuildFacts => ({
  appName: 'shop',
  environment: 'Production',
  build: {
    id: '0198-cafe0001',
    requestedBy: null,
    fromSnapshot: null,
    archive: {
      digest: `sha256:${'0'.repeat(64)}` as Digest,
      bytes: 1,
      files: 1,
      commit: { sha: 'c0ffee0123456789c0ffee0123456789c0ffee01', subject: 'Fix the cart', branch: 'main' },
    },
  },
  requestedBy: { kind: 'WEBHOOK', name: 'Rebuild' },
  trigger: 'REBUILD',
  siteUrl: 'https://shop.example',
  ...given,
})

test('the notice of a failure names the reason, the commit, the requester and the site', () => {
  const problem = new Problem('TYPE_ERROR', 'cart.ts(3,1): error TS2304.')
  assert.deepEqual(buildNoticeText('BUILD_FAILED', facts({ problem })), {
    title: 'Build failed: shop / Production',
    text: [
      'Build cafe0001: TYPE_ERROR',
      'cart.ts(3,1): error TS2304.',
      'Commit: c0ffee0 Fix the cart on main',
      'Requested by: webhook Rebuild',
      'Site: https://shop.example',
    ].join('\n'),
  })
})

test('a held build has a heading of its own', () => {
  const problem = new Problem('SUSPICIOUS_OUTPUT', 'It lost 12 pages. The build is held.')
  assert.equal(buildNoticeText('BUILD_FAILED', facts({ problem })).title, 'Build held: shop / Production')
})
