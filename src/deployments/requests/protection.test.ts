/** Changes of who may see an environment, on a real database, up to the routes that edges get. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { openRoutedModules } from '../../../test/support/modules/routing.ts'
import { createVariables } from '../../apps/index.ts'
import { LIMITS, type Problem } from '../../contract/index.ts'
import { matchesPasswordHash } from '../../passwords/index.ts'
import { createVault } from '../../storage/index.ts'
import { createRequests } from './request.ts'
import { createBuildRequests } from './request-build.ts'

type Given = Parameters<ReturnType<typeof createRequests>['updateEnvironment']>[1]['given']

async function setUp(t: TestContext) {
  const modules = await openRoutedModules(t)
  const variables = createVariables({ vault: createVault(randomBytes(32)) })
  const requests = createRequests({ ...modules, variables, buildRequests: createBuildRequests(modules) })
  const { id, appName } = await modules.environment()
  await modules.sql.transaction(async (tx) => {
    const environment = await modules.environments.byId(tx, id)
    if (environment) await modules.environments.assignHostLabel(tx, environment)
    await modules.routing.touch(tx, id)
  })
  const at = { account: modules.account, appName, environmentId: id }
  return {
    id,
    stored: async () => {
      const found = await modules.environments.byId(modules.sql, id)
      assert.ok(found)
      return found
    },
    change: (given: Given, mask = Object.keys(given) as ('production' | 'protection' | 'displayName')[]) =>
      requests.updateEnvironment(at, { given, mask }),
    /** What an edge is told of it. */
    async access() {
      modules.published.length = 0
      await modules.routing.publish()
      const [sent] = modules.published.flatMap(({ routes }) => routes).filter(({ environment }) => environment === id)
      return sent?.access
    },
    wasSent: () => modules.published.length > 0,
  }
}

test('a new environment is not production, and an edge is told so', async (t) => {
  const { stored, access, change } = await setUp(t)
  assert.equal((await stored()).isProduction, false)
  assert.deepEqual(await access(), { isHidden: true })
  await change({ production: true })
  assert.equal(await access(), undefined)
})

test('what is left out of a protection stays, null and an empty list remove, and a mask alone clears all of it', async (t) => {
  const { stored, change } = await setUp(t)
  await change({ protection: { password: 'correct horse', addresses: ['203.0.113.9/24', '::FFFF:10.0.0.1'] } })
  const first = (await stored()).protection
  assert.deepEqual(first.addresses, ['203.0.113.0/24', '10.0.0.1'])
  assert.equal(await matchesPasswordHash('correct horse', first.passwordHash ?? ''), true)
  await change({ protection: { addresses: [] } })
  assert.deepEqual((await stored()).protection, { ...first, addresses: [] })
  await change({ protection: { addresses: ['::1', '0:0::1'] } })
  await change({ protection: { password: null } })
  assert.deepEqual((await stored()).protection, { passwordHash: null, addresses: ['::1'] })
  await change({ displayName: 'Other' })
  assert.deepEqual((await stored()).protection.addresses, ['::1'])
  await change({}, ['protection'])
  assert.deepEqual((await stored()).protection, { passwordHash: null, addresses: [] })
})

test('edges get the hash and a key, never the password; the same password set again gives another key', async (t) => {
  const { access, change } = await setUp(t)
  await change({ protection: { password: 'correct horse' } })
  const first = await access()
  assert.match(first?.protection?.password?.hash ?? '', /^scrypt\$/)
  assert.match(first?.protection?.password?.cookieKey ?? '', /^[\w-]{43}$/)
  assert.doesNotMatch(JSON.stringify(first), /correct horse/)
  await change({ displayName: 'Other' })
  await change({ production: true })
  const second = await access()
  assert.deepEqual(second, { protection: first?.protection })
  await change({ protection: { password: 'correct horse' } })
  assert.notEqual((await access())?.protection?.password?.cookieKey, second?.protection?.password?.cookieKey)
})

test('another change of the environment sends no routes', async (t) => {
  const { access, change, wasSent } = await setUp(t)
  await access()
  await change({ displayName: 'Other' })
  await access()
  assert.equal(wasSent(), false)
})

test('an address that is none is refused by its number, before a password is hashed', async (t) => {
  const { stored, change } = await setUp(t)
  await assert.rejects(
    change({ protection: { password: 'correct horse', addresses: ['::1', 'example.com'] } }),
    (problem: Problem) => {
      assert.equal(problem.fields[0]?.field, 'protection.addresses[1]')
      return true
    },
  )
  assert.deepEqual((await stored()).protection, { passwordHash: null, addresses: [] })
})

test('an account that sets many passwords at the same time is told to wait', async (t) => {
  const { change } = await setUp(t)
  const results = await Promise.allSettled(
    Array.from({ length: LIMITS.changesWaiting }, () => change({ protection: { password: 'correct horse' } })),
  )
  const refused = results.filter((result) => result.status === 'rejected')
  assert.ok(refused.length > 0)
  for (const { reason } of refused) assert.equal(reason.reason, 'TOO_MANY_CHANGES')
})
