export type { AwakeLimits } from './awake-slots.ts'
export type { InstanceSpec } from './instance.ts'
export { createSupervisor, type Running, type Supervisor } from './supervisor.ts'
