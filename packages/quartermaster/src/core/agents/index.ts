export { type AgentSession, agentViewOf, type GatewayConfig } from './agent-session.ts'
export {
  type AgentEntry,
  type AgentStore,
  type Agents,
  type AgentsDeps,
  createAgents,
  type RemoteAgents,
} from './agents.ts'
export { type Announcer, createAnnouncer, type ViewChange } from './announcer.ts'
export {
  type CapabilityRegistry,
  createCapabilityRegistry,
  type RegistryDeps,
  refuseIssues,
  type ServerFactory,
} from './registry.ts'
export {
  type Grant,
  type Mount,
  type Mounted,
  type MountRequest,
  type PromptGrant,
  type ResourceGrant,
} from './resolve-capabilities.ts'
export { filterTools, listTools, suggestTool, toolDetail } from './tool-report.ts'
export type { View } from './view.ts'
