export {
  dataDescriptor,
  directoryRecord,
  type Entry,
  endRecords,
  localHeader,
  MAX_ENTRY_BYTES,
  streamedHeader,
  type WrittenEntry,
} from './records.ts'
export { type SmallFile, zipSmall } from './small.ts'
