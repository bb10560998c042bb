/** What the package exports as `headland/client`. */
export { type Authorization, type Client, type ClientOptions, createClient, type Fetch } from './client.ts'
export { HeadlandError } from './errors.ts'
export type * from './generated/resources.ts'
export type { Reason, Routes } from './generated/routes.ts'
export type { LogLine } from './log-lines.ts'
export { type CallRoute, ENVIRONMENT, type ListRoute, type NamePath, pathOf, type StreamRoute } from './route-types.ts'
