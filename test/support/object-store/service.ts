/** A service whose archives are in an object store. */
import { createHash } from 'node:crypto'
import type { Scope } from '../folder.ts'
import { startService, type TestService } from '../service/service.ts'

export type TestStore = {
  endpoint: string
  region: string
  bucket: string
  keyId: string
  secret: string
  stop(): Promise<unknown>
  startAgain(): Promise<void>
}

export const settingsFor = (store: TestStore, prefix: string): Record<string, string> => ({
  HEADLAND_OBJECT_STORE: `s3://${store.bucket}/${prefix}`,
  HEADLAND_OBJECT_STORE_ENDPOINT: store.endpoint,
  HEADLAND_OBJECT_STORE_REGION: store.region,
  HEADLAND_OBJECT_STORE_KEY_ID: store.keyId,
  HEADLAND_OBJECT_STORE_SECRET: store.secret,
})

export const startServiceOn = (
  t: Scope,
  { store, prefix, dataDir }: { store: TestStore; prefix: string; dataDir?: string },
): Promise<TestService> => startService(t, { ...(dataDir ? { dataDir } : {}), settings: settingsFor(store, prefix) })

/** The name of an archive in the store. */
export function nameOf(zip: Buffer): string {
  const hex = createHash('sha256').update(zip).digest('hex')
  return `blobs/${hex.slice(0, 2)}/${hex}`
}
