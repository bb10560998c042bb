export { createPublishes, type Publishes } from './publishes.ts'
export {
  createPublishRecords,
  type NewPublish,
  PUBLISH_HINTS,
  type Publish,
  type PublishRecords,
} from './records.ts'
export { isLate, partsOf } from './times.ts'
export { createFirstVisits, type ReportedVisit } from './visits.ts'
