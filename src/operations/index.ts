export type { LatestOperation } from './latest.ts'
export { createOperations, type Ending, type Operation, type OperationPath, type Operations } from './operations.ts'
export { type Finish, type Handler, type Handlers, isCancelled, startWorker, type Work, type Worker } from './worker.ts'
