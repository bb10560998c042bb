/** A real store whose gateway is away for a while. */
import { test } from 'node:test'
import { Secret } from '../../src/base/index.ts'
import { createClient } from '../../src/storage/blobs/s3/client.ts'
import { createObjects } from '../../src/storage/blobs/s3/objects.ts'
import { outageSuite } from '../suites/object-store-outage.ts'
import { startCeph } from '../support/object-store/ceph.ts'
import { NEEDS_CEPH } from '../support/object-store/ceph-packages.ts'

if (NEEDS_CEPH) test('a real store that is away', { skip: NEEDS_CEPH }, () => undefined)
else
  outageSuite('Ceph', {
    store: startCeph,
    async namesIn({ endpoint, secret, bucket, region, keyId }, prefix) {
      const client = createClient({
        ...{ endpoint: new URL(endpoint), bucket, region, keyId, secret: new Secret(secret), isPathStyle: true },
      })
      const found = await createObjects(client, prefix).list('')
      client.close()
      return found.map(({ name }) => `${prefix}/${name}`)
    },
  })
