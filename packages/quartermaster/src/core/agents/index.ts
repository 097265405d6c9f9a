export type { AgentEntry, AgentStore } from './agent-entry.ts'
export { type Agents, type AgentsDeps, createAgents } from './agents.ts'
export { type Announcer, createAnnouncer } from './announcer.ts'
export type { Grant } from './grants.ts'
export {
  type CapabilityRegistry,
  createCapabilityRegistry,
  type RegistryDeps,
  refuseIssues,
  type ServerFactory,
} from './registry.ts'
export type { Seat } from './seat.ts'
export type { View } from './view.ts'
