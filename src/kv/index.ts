export { createKv, DEFAULT_KV_LIMITS, type Kv, type ValueLimits } from './kv.ts'
