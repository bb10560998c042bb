import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openModules } from '../../../test/support/modules/deployments.ts'
import { Problem } from '../../contract/index.ts'
import { statement, toPage } from '../../storage/index.ts'
import { UNLOCKED } from '../run/packages.ts'
import { toFailure } from './failure.ts'

test('the hosts that a build contacted are in its own record, and not in lists of builds', async (t) => {
  const { builds, deploy, environment } = await openModules(t)
  const shop = await environment()
  const path = { accountId: shop.accountId, environmentId: shop.id }
  const { id } = await deploy(shop, { archive: '1', output: '22' })
  const contact = { host: 'cms.test', protocol: 'tcp', port: 443, addresses: ['192.0.2.1'], isRefused: false } as const
  await builds.contacted(id, [{ ...contact, isNew: true }])
  assert.equal((await builds.require(path, id)).contacts?.length, 1)
  const { items } = await builds.list(path, toPage({ pageSize: 10 }))
  assert.deepEqual(
    items.map((build) => [build.id, build.contacts]),
    [[id, null]],
  )
  assert.deepEqual(await builds.contactsBefore(shop.id, `${id}z`), new Set(['cms.test tcp 443']))
})

test('packages of a build that failed stay for the next one, count for its account, and are those of one build at a time', async (t) => {
  const { builds, build, packages, buildRetention, environment } = await openModules(t)
  const shop = await environment()
  const first = await build(shop, { packages: 'one', state: 'FAILED' })
  await packages.collect()
  assert.ok(await packages.find('one'))
  assert.deepEqual(
    (await buildRetention.packages(shop.accountId)).map(({ bytes }) => bytes),
    [3],
  )
  const second = await build(shop, { packages: 'two', state: 'FAILED' })
  await builds.releasePackagesOfFailed(shop.id, second.id)
  await packages.collect()
  assert.equal(await packages.find('one'), undefined)
  assert.ok(await packages.find('two'))
  const path = { accountId: shop.accountId, environmentId: shop.id }
  assert.equal((await builds.require(path, first.id)).packagesId, null)
})

test('packages of a live build are not released for those of a failed one', async (t) => {
  const { builds, build, deploy, packages, environment } = await openModules(t)
  const shop = await environment()
  await deploy(shop, { archive: '1', output: '22', packages: 'live' })
  const failed = await build(shop, { packages: 'other', state: 'FAILED' })
  await builds.releasePackagesOfFailed(shop.id, failed.id)
  await packages.collect()
  assert.ok(await packages.find('live'))
})

test('packages of an app without a lockfile are released with the failed build, since no other build finds them', async (t) => {
  const { builds, build, packages, sql, newId, environment } = await openModules(t)
  const shop = await environment()
  for (const wantedOf of [(id: string) => id, (id: string) => `${UNLOCKED}${id}`]) {
    const { id } = await build(shop, { isOver: false })
    const kept = newId()
    await sql.transaction(async (tx) => {
      await packages.record(tx, shop.accountId, { id: kept, wanted: wantedOf(kept), files: 1, bytes: 1 })
      await builds.claimPackages(tx, id, kept)
      await builds.end(tx, id, { state: 'FAILED', durations: {}, failure: null })
    })
    await packages.collect()
    assert.deepEqual(await sql.query(statement`SELECT id FROM packages`), [])
  }
})

test('a failure has its advice once: in its message, or in todo', () => {
  const advised = new Problem('MODULE_NOT_FOUND', '`./a` was not found. Check that the file is in the archive.')
  assert.equal(toFailure(advised, 3, []).todo, '')
  const bare = toFailure(new Problem('BUILD_SCRIPT_FAILED', '`npm run build` ended with exit code 1.'), 3, [])
  assert.match(bare.todo, /log line/)
  assert.match(toFailure(new Problem('TYPE_ERROR'), 0, []).todo, /log line/)
  assert.match(toFailure(new Problem('DOWNLOAD_FAILED', 'x'), 0, []).cause, /in the network/)
})
