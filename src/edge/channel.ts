/** What the control plane and an edge process say to each other. */
import type { RouteTable } from './routes.ts'

export type ToEdge =
  | { kind: 'start'; host: string; port: number; tableFile: string }
  | { kind: 'table'; id: number; table: RouteTable }
  | { kind: 'stop' }

export type FromEdge =
  | { kind: 'listening'; port: number }
  | { kind: 'using'; id: number }
  | { kind: 'failed'; message: string }
