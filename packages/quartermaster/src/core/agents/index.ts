export type { AgentEntry, AgentStore } from './agent-entry.ts'
export { agentViewOf } from './agent-view.ts'
export { type Agents, type AgentsDeps, createAgents } from './agents.ts'
export { type Announcer, createAnnouncer, type ViewChange } from './announcer.ts'
export type { GatewayConfig } from './gateway-view.ts'
export type { Grant, PromptGrant, ResourceGrant } from './grants.ts'
export type { GuestBook } from './guests.ts'
export type { Mount, Mounted, MountRequest } from './mount.ts'
export {
  type CapabilityRegistry,
  createCapabilityRegistry,
  type RegistryDeps,
  refuseIssues,
  type ServerFactory,
} from './registry.ts'
export type { Seat } from './seat.ts'
export { filterTools, listTools, suggestTool, toolDetail } from './tool-report.ts'
export type { View } from './view.ts'
