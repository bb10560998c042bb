export {
  type Engine,
  type Exit,
  type Job,
  type Mount,
  type Output,
  type Overlay,
  type Process,
  runToEnd,
} from './engine.ts'
export { type Excess, type Limiter, type Limits, openLimiter } from './limits.ts'
export { endOrphans } from './orphans.ts'
export { overlayProblem, removeScratch } from './overlay.ts'
