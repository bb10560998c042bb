export { type Check, type Checked, createCheck } from './check.ts'
export { checkFailed, fromText as readCheckReport, heldAdvice } from './report.ts'
