export { type AgentSession, agentViewOf, type GatewayConfig } from './agent-session.ts'
export {
  type AgentEntry,
  type AgentStore,
  type Agents,
  type AgentsDeps,
  createAgents,
  type RemoteAgents,
} from './agents.ts'
export { createAnnouncer, type ViewChange } from './announcer.ts'
export { type CapabilityRegistry, createCapabilityRegistry, refuseIssues, type ServerFactory } from './registry.ts'
export {
  type Grant,
  type Mount,
  type MountRequest,
  type PromptGrant,
  type ResourceGrant,
} from './resolve-capabilities.ts'
export { filterTools, listTools, suggestTool, toolDetail } from './tool-report.ts'
export type { View } from './view.ts'
