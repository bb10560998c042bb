export { assembleCache, type CacheSettings, type EdgeCache } from './assemble.ts'
export { createNewestPurges, type NewestPurges } from './newest-purges.ts'
export type { Inspection, StoredObject } from './store/inspect.ts'
export type { Purge } from './store/purge.ts'
