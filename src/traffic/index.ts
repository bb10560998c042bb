export { createTraffic, type Traffic } from './traffic.ts'
