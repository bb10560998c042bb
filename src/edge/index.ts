export type { RouteTable, Target } from './routes.ts'
export { type Edge, startEdge } from './watch.ts'
