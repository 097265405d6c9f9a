import { z } from 'zod'
import { Name } from './names.ts'
import { PromptDescriptor } from './prompt.ts'
import { ResourceDescriptor } from './resource.ts'
import { ToolDescriptor } from './tool.ts'

/** A capability as discovery shows it. */
export const CapabilityDescriptor = z.object({
  key: Name,
  title: z.string(),
  short: z.string(),
  tools: z.array(ToolDescriptor),
  /** Absent when it brings none. */
  prompts: z.array(PromptDescriptor).optional(),
  resources: z.array(ResourceDescriptor).optional(),
  /** JSON Schema of the configuration, `tools` left out. */
  configSchema: z.record(z.string(), z.unknown()).optional(),
})
export type CapabilityDescriptor = z.infer<typeof CapabilityDescriptor>

/** What a resolver receives: its own configuration, and beside it the resolved list of tools. */
export const ResolvedConfig = z.looseObject({ tools: z.array(z.string()) })
export type ResolvedConfig = z.infer<typeof ResolvedConfig>

const stringRecord = z.record(z.string(), z.string())

/** How agent engines are told of an MCP server. Ours are `sdk` and `http`; `stdio` names someone else's. */
export const McpServerConfig = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('sdk'),
    name: z.string(),
    instance: z.custom<object>(value => typeof value === 'object'),
  }),
  z.object({ type: z.literal('http'), url: z.string(), headers: stringRecord.optional() }),
  z.object({
    type: z.literal('stdio'),
    command: z.string(),
    args: z.array(z.string()).optional(),
    env: stringRecord.optional(),
  }),
])
export type McpServerConfig = z.infer<typeof McpServerConfig>

/** What became of one tool of one capability. */
export const ResolutionEntry = z.object({
  capability: z.string(),
  /** As an allowlist names it; `*` for all of a capability whose tools are not known. */
  tool: z.string(),
  /** What it is called by, where that is another name. */
  calledAs: z.string().optional(),
  state: z.enum(['granted', 'unavailable', 'skipped']),
  reason: z.string().optional(),
})
export type ResolutionEntry = z.infer<typeof ResolutionEntry>

/** What an agent's capabilities resolve to, and the honest report beside it. */
export const ResolvedCapabilities = z.object({
  mcpServers: z.record(z.string(), McpServerConfig),
  report: z.array(ResolutionEntry),
})
export type ResolvedCapabilities = z.infer<typeof ResolvedCapabilities>
