export type { LatestOperation } from './latest.ts'
export {
  createOperations,
  type Ending,
  type HandedOn,
  newestOperationId,
  type Operation,
  type OperationPath,
  type Operations,
} from './operations.ts'
export type { Waiting } from './waiting.ts'
export { type Finish, type Handler, type Handlers, isCancelled, startWorker, type Work, type Worker } from './worker.ts'
