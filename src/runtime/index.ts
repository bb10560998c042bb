export type { AwakeLimits } from './awake-slots.ts'
export { type Instance, type InstanceSpec, isOverDisk, type Tools } from './instance.ts'
export type { AppOutput, InstanceRecord, InstanceRequest, InstanceStatus, Instances } from './instances.ts'
export { createSupervisor, deploymentOf, type HandedOver, keyOf, type Running, type Supervisor } from './supervisor.ts'
