export { createFolderKv } from './folder-kv.ts'
export { type AdmitGrowth, DEFAULT_KV_LIMITS, type Kv, type ValueLimits } from './kv.ts'
export type { StoredKv, StoredKvParts } from './stored/stored-kv.ts'

import type { StoredKvParts } from './stored/stored-kv.ts'

/** Loaded only where there is an object store. */
export async function openStoredKv(parts: StoredKvParts) {
  const { createStoredKv } = await import('./stored/stored-kv.ts')
  return createStoredKv(parts)
}
