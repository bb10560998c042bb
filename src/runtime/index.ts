export type { InstanceSpec } from './instance.ts'
export type { AwakeLimits } from './places.ts'
export { createSupervisor, type Running, type Supervisor } from './supervisor.ts'
