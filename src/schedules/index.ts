export { createScheduleRecords, type ScheduleRecords } from './records.ts'
export { createScheduleRuns } from './run.ts'
export { createSchedules, type Schedules } from './schedules.ts'
