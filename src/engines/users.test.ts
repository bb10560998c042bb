import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../test/support/fuzz.ts'
import { testPlain, testSandbox } from '../../test/support/machine/engine.ts'
import { TENANT_UIDS } from '../base/index.ts'
import { checkInner } from './paths.ts'
import { checkTenant } from './users.ts'

const NOT_TENANTS = [0, 1, 1000, 65_534, TENANT_UIDS.min - 1, TENANT_UIDS.max + 1, -1, 4_294_967_295, 0.5, Number.NaN]

test('a user outside of the tenants’ range is no tenant, be it by its group alone', () => {
  const { min: first } = TENANT_UIDS
  for (const id of [...NOT_TENANTS, '200001' as unknown as number]) {
    assert.throws(() => checkTenant({ uid: id, gid: first }), /is not the user of an environment/)
    assert.throws(() => checkTenant({ uid: first, gid: id }), /is not the user of an environment/)
  }
  assert.deepEqual(checkTenant({ uid: first, gid: first }), { uid: first, gid: first })
  assert.equal(checkTenant(undefined), undefined)
})

for (const [name, engine] of [
  ['sandbox', await testSandbox()],
  ['service without a sandbox', testPlain()],
] as const) {
  test(`a ${name} starts nothing as a user who is no tenant`, { skip: process.getuid?.() !== 0 }, async () => {
    for (const id of NOT_TENANTS) {
      const job = { argv: ['true'], cwd: '/', environment: {}, mounts: [], user: { uid: id, gid: id } }
      await assert.rejects(
        engine.start(job, () => assert.fail('it was started')),
        /is not the user of an environment/,
      )
    }
  })
}

const aText = fc
  .array(fc.constantFrom('a', '.', '..', '/', '//', '\0', ' ', '-', './', '../'), { maxLength: 8 })
  .map((parts) => parts.join(''))

test('a path that is taken stays inside of its folder', async () => {
  await holds(
    fc.property(aText, (text) => {
      const isTaken = (check: () => unknown): boolean => {
        try {
          check()
          return true
        } catch {
          return false
        }
      }
      if (isTaken(() => checkInner(text, 'it'))) {
        const { pathname } = new URL(`file:///top/${encodeURI(text).replaceAll('%2F', '/')}`)
        assert.ok(!text.startsWith('/') && (pathname === '/top' || pathname.startsWith('/top/')), text)
      }
    }),
    300,
  )
})
