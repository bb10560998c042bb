export type { RequestFilter } from './filter.ts'
export { createRequestLog, forgetRequestLogs, type RequestLog, requestLogName } from './request-log.ts'
