export type { OperationAtWork } from './counts.ts'
export type { LatestOperation } from './latest.ts'
export { createOperations, type Operations } from './operations.ts'
export { newestOperationId, type OperationOrigin } from './related.ts'
export type { Ending, HandedOn, Operation, OperationPath, OperationRecord } from './types.ts'
export type { Waiting } from './waiting.ts'
export {
  type Finish,
  type Handler,
  type Handlers,
  isCancelled,
  type OnEnd,
  startWorker,
  type Work,
  type Worker,
} from './worker.ts'
