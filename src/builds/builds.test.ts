import assert from 'node:assert/strict'
import { test } from 'node:test'
import { house } from '../../test/support/upkeep.ts'
import { toPage } from '../storage/index.ts'

test('whom a build called is told with the build alone, and not in lists of builds', async (t) => {
  const { builds, deploy, environment } = await house(t)
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
