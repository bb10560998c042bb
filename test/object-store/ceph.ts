/** The suites of blobs and of object stores on a real store. */
import { after, test } from 'node:test'
import { Secret } from '../../src/base/index.ts'
import { openS3Blobs } from '../../src/storage/blobs/s3/blobs-s3.ts'
import { blobsSuite } from '../suites/blobs.ts'
import { kvSuite } from '../suites/kv.ts'
import { objectStoreSuite } from '../suites/object-store.ts'
import { storedLogsSuite } from '../suites/stored-logs.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startCeph } from '../support/object-store/ceph.ts'
import { NEEDS_CEPH } from '../support/object-store/ceph-packages.ts'
import { openValuesOn } from '../support/object-store/values.ts'

if (NEEDS_CEPH) test('a real object store', { skip: NEEDS_CEPH }, () => undefined)
else await runSuites()

async function runSuites() {
  const ceph = await startCeph({ after })
  let prefixes = 0
  objectStoreSuite('Ceph', async () => ceph)
  storedLogsSuite('Ceph', async () => ceph)
  kvSuite('rows and a bucket of Ceph', (t, given) => openValuesOn(t, ceph, given))
  blobsSuite('a bucket of Ceph', async (t) => {
    const { endpoint, secret, bucket, region, keyId } = ceph
    const blobs = await openS3Blobs({
      bucket: { endpoint: new URL(endpoint), secret: new Secret(secret), bucket, region, keyId, isPathStyle: true },
      prefix: `blobs-suite/${++prefixes}`,
      owner: 'tests',
      cache: { folder: await temporaryFolder(t), maxBytes: 1e9 },
    })
    t.after(blobs.close)
    return blobs
  })
}
