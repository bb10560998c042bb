import { objectStoreSuite } from '../../../../test/suites/object-store.ts'
import { BUCKET, KEYS, startS3Server } from '../../../../test/support/object-store/s3-server.ts'

objectStoreSuite('the small server of the tests', async (t) => {
  const { endpoint, region } = await startS3Server(t)
  return { endpoint, region, bucket: BUCKET, ...KEYS }
})
