export { APP_REQUESTER, SERVICE_REQUESTER, webhookRequester } from './callers.ts'
export {
  type Asked,
  createLedger,
  type Ledger,
  type LedgerEntry,
  newestTriggerId,
  type Outcome,
  type PurgeSummary,
} from './ledger.ts'
