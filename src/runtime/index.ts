export {
  type AwakeApp,
  type AwakeLimits,
  appsToSleep,
  countApps,
  memoryOfEach,
  noSlot,
  slotFor,
  totalMemoryBytes,
} from './awake-slots.ts'
export type { FrozenLimits } from './frozen-apps.ts'
export { type Answer, type Asked, ask } from './health.ts'
export { HOOK_FILES, imageHookVariables, isToldRevalidations, variablesFor } from './hooks.ts'
export { type Instance, type InstanceSpec, isOverDisk, outermost, type Tools } from './instance.ts'
export type { AppOutput, Awake, InstanceRecord, InstanceRequest, InstanceStatus, Instances } from './instances.ts'
export { APP_LINES } from './log-lines.ts'
export { nextCount, type ScalePace, type Trend, trendOf } from './scale.ts'
export { createSupervisor, deploymentOf, type HandedOver, keyOf, type Running, type Supervisor } from './supervisor.ts'
