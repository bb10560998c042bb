export {
  CERTIFICATE_PROGRAM,
  type ContentView,
  createContentView,
  OutageFound,
  SNAPSHOT_LIMITS,
} from './content-view.ts'
export type { Outage } from './messages.ts'
export { createSnapshotRecords, readSnapshotDigests, type Snapshot, type SnapshotRecords } from './records.ts'
export { createSnapshots, type Snapshots } from './snapshots.ts'
