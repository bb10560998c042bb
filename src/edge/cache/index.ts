export { assembleCache, type CacheSettings } from './assemble.ts'
export type { Inspection, StoredObject } from './inspect.ts'
export type { Purge } from './purge.ts'
