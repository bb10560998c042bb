export type { Inspection, Purge, StoredObject } from './cache/index.ts'
export { createManifest, type StaticFile, type StaticManifest, writeManifest } from './manifest.ts'
export type { RouteTable, Target } from './routes.ts'
export { type Edge, startEdge } from './watch.ts'
