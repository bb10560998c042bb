export { type ConditionRecords, createConditionRecords } from './conditions.ts'
export { createNotices, type NewNotice, type Notices } from './notices.ts'
export { type Claimed, createOutbox, type Outbox, type Outcome, type SentNotice } from './outbox.ts'
export {
  createTargetRecords,
  type TargetAddress,
  type TargetRecord,
  type TargetRecords,
  type TargetSettings,
} from './targets.ts'
