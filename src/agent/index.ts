export { type Agent, startAgent } from './agent.ts'
export { type AgentClient, type BuildNetworks, createAgentClient } from './client/client.ts'
export type { MachineDescription } from './messages.ts'
