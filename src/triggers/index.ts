export { APP_REQUESTER, SERVICE_REQUESTER, webhookRequester } from './callers.ts'
export {
  type Asked,
  createLedger,
  type Entry,
  type Ledger,
  newestTriggerId,
  type Outcome,
  type Shown,
} from './ledger.ts'
