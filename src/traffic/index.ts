export { createTrafficPaths, forgetTrafficPaths } from './paths.ts'
export { createTraffic, type Traffic } from './traffic.ts'
