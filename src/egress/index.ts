export { createAddressRules, type HostRules } from './addresses.ts'
export {
  createEgress,
  type Egress,
  EgressFailed,
  EgressRefused,
  type HttpAnswer,
  type HttpCall,
  type SendOptions,
} from './send.ts'
