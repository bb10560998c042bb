export { createValues, DEFAULT_VALUE_LIMITS, type ValueLimits, type Values } from './values.ts'
