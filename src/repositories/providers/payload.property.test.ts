import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds, NASTY } from '../../../test/support/fuzz.ts'
import { Secret } from '../../base/index.ts'
import { LIMITS, Problem } from '../../contract/index.ts'
import { apiBaseOf, PROVIDERS, providerNamed, providerOf } from './index.ts'

const EVENTS = ['push', 'delete', 'ping', 'Push Hook', 'repo:push', 'repo:refs_changed', ...NASTY]
const NAMES = [
  'ref',
  'ref_type',
  'after',
  'object_kind',
  'push',
  'changes',
  'new',
  'old',
  'name',
  'type',
  'target',
  'hash',
]
const word = fc.oneof(
  fc.constantFrom(...NASTY, 'push', 'branch', 'DELETE', 'refs/heads/', '0'.repeat(40), 'a'.repeat(40)),
  fc.string({ maxLength: 20 }).map((text) => `refs/heads/${text}`),
)
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    word,
    fc.constantFrom(null, 1, true),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('tree'), { maxLength: 4 }),
  object: fc.dictionary(fc.constantFrom(...NAMES, '__proto__', 'constructor', 'id', 'toHash'), tie('tree'), {
    maxKeys: 6,
  }),
}))
const body = fc.oneof(
  tree.map((value) => Buffer.from(JSON.stringify(value))),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
)
const headerNames = ['x-github-event', 'x-gitea-event', 'x-gitlab-event', 'x-event-key']
const signatures = [
  'x-hub-signature-256',
  'x-hub-signature',
  'x-gitea-signature',
  'x-gitlab-token',
  'webhook-signature',
]

test('whatever a call carries, it is a well-formed change, no change or a problem, and proves nothing', async () => {
  await holds(
    fc.property(
      fc.constantFrom(...PROVIDERS),
      fc.constantFrom(...EVENTS),
      word,
      body,
      (name, event, signature, sent) => {
        const headers = Object.fromEntries([
          ...headerNames.map((each) => [each, event]),
          ...signatures.map((each) => [each, signature]),
          ['webhook-id', 'a'],
          ['webhook-timestamp', '1'],
        ])
        assert.equal(providerNamed(name).proves(headers, sent, new Secret('4FqWUr-a0hZ3')), false)
        try {
          const read = providerNamed(name).read(headers, sent)
          if (read.kind !== 'CHANGES') return
          assert.ok(read.changes.length <= LIMITS.hookBranches)
          for (const change of read.changes) {
            assert.match(change.branch, /^[^-/.\s~^:?*[\\\p{Cc}][^\s~^:?*[\\\p{Cc}]*$/u)
            if (change.kind === 'PUSH') assert.match(change.commit, /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/)
          }
        } catch (error) {
          assert.ok(error instanceof Problem, String(error))
        }
      },
    ),
    2000,
  )
})

test('whatever a repository is called, the call for its status stays below its own path of the API', async () => {
  const part = fc.oneof(fc.constantFrom(...NASTY, 'scm', '@', '?', '#', '.git'), fc.string({ maxLength: 12 }))
  const start = fc.constantFrom('https://github.com/', 'git@gitlab.com:', 'http://h:1/', 'ssh://git@h:22/', '')
  const status = { state: 'SUCCESS', description: 'd', targetUrl: 'https://s.example/', context: 'c' } as const
  await holds(
    fc.property(start, fc.array(part, { maxLength: 4 }), fc.constantFrom(...PROVIDERS), (host, parts, name) => {
      const url = host + parts.join('/')
      providerOf(url)
      const call = providerNamed(name).status(url, 'a'.repeat(40), status, new Secret('t'))
      if (!call) return
      assert.ok(call.url.startsWith(`${apiBaseOf(url, name)}/`))
      const { pathname, search, hash } = new URL(call.url)
      assert.equal(search + hash, '')
      assert.ok(call.url.endsWith(pathname), call.url)
      assert.ok(pathname.includes('a'.repeat(40)))
    }),
    2000,
  )
})
