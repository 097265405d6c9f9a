import { z } from 'zod'
import { ContentBlock } from './call.ts'
import { Name } from './primitives.ts'
import { McpExtras, ToolDescriptor, ToolFacts } from './tool.ts'

/** An argument of a prompt. */
export const PromptArgument = z.strictObject({
  name: Name,
  title: z.string().min(1).max(100).optional(),
  short: z.string().min(1).max(1024).optional(),
  required: z.boolean(),
})

/** Everything about a prompt but its code. Validated on load. */
export const PromptFacts = z.strictObject({
  name: Name,
  title: z.string().min(1).max(100),
  /** One sentence: the MCP description, word for word. */
  short: z.string().min(1).max(1024),
  icon: ToolFacts.shape.icon,
  requires: z.array(Name),
  arguments: z.array(PromptArgument).max(50),
  mcp: McpExtras.optional(),
})
export type PromptFacts = z.infer<typeof PromptFacts>

const words = (most: number) => z.string().min(1).max(most)

/** A prompt of an upstream, whose arguments may have any name. */
export const UpstreamPromptFacts = PromptFacts.extend({
  title: words(200),
  short: words(16 * 1024),
  arguments: z
    .array(
      PromptArgument.extend({ name: words(256), title: words(200).optional(), short: words(16 * 1024).optional() }),
    )
    .max(200),
})

/** One message of a prompt's conversation. */
export const PromptMessage = z.looseObject({ role: z.enum(['user', 'assistant']), content: ContentBlock })
export type PromptMessage = z.infer<typeof PromptMessage>

/** A prompt, filled in. */
export const PromptResult = z.looseObject({
  description: z.string().optional(),
  messages: z.array(PromptMessage),
  _meta: z.record(z.string(), z.unknown()).optional(),
})
export type PromptResult = z.infer<typeof PromptResult>

/** A prompt as discovery shows it; nothing has to run for it. */
export const PromptDescriptor = z.object({
  name: Name,
  title: z.string(),
  short: z.string(),
  arguments: z.array(
    z.object({
      name: z.string(),
      title: z.string().optional(),
      short: z.string().optional(),
      required: z.boolean(),
    }),
  ),
})
export type PromptDescriptor = z.infer<typeof PromptDescriptor>

/** Completions for an argument, the best first, at most a hundred of them. */
export const Suggestions = z.object({
  values: z.array(z.string()),
  total: z.number().int().nonnegative().optional(),
  hasMore: z.boolean().optional(),
})
export type Suggestions = z.infer<typeof Suggestions>

const OWN_SCHEME = /^quartermaster:/i
const ABSOLUTE = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s{}]+$/
const VARIABLE = /\{[A-Za-z_][A-Za-z0-9_]*\}/g
/** RFC 6570 §2.2 to §2.4: an operator, and names with a length or a star. */
const EXPRESSION = /\{[+#./;?&]?[\w.%]+(?::\d{1,4}|\*)?(?:,[\w.%]+(?::\d{1,4}|\*)?)*\}/g

const notOurs = (value: string) => !OWN_SCHEME.test(value)
const OURS = 'has the scheme "quartermaster:", which is ours'

/** The address of one resource, with any scheme but ours. */
const ResourceUri = z
  .string()
  .max(2048)
  .regex(ABSOLUTE, 'must be absolute, like "docs://handbook", without spaces and braces')
  .refine(notOurs, OURS)

/** The addresses of many resources: RFC 6570, level 1. */
const ResourceUriTemplate = z
  .string()
  .max(2048)
  .refine(isTemplate, 'must be an absolute address with parts like {name}, each once, and text between them')
  .refine(notOurs, OURS)

/** The addresses of an upstream's resources: all of RFC 6570. */
const UpstreamUriTemplate = z
  .string()
  .max(2048)
  .refine(isAnyTemplate, 'must be an absolute address with expressions of RFC 6570')
  .refine(notOurs, OURS)

/** More facts for MCP clients, word for word. */
export const ResourceMcpExtras = McpExtras.extend({ size: z.number().int().nonnegative().optional() })
export type ResourceMcpExtras = z.infer<typeof ResourceMcpExtras>

const shape = {
  name: z.string().min(1).max(200),
  title: z.string().min(1).max(200),
  /** One sentence: the MCP description, word for word. */
  short: z.string().max(1024),
  icon: ToolFacts.shape.icon,
  mimeType: z
    .string()
    .regex(/^[\w.+-]+\/[\w.+*-]+( *;.*)?$/, 'must look like "text/markdown"')
    .optional(),
  uri: ResourceUri.optional(),
  uriTemplate: ResourceUriTemplate.optional(),
  requires: z.array(Name),
  mcp: ResourceMcpExtras.optional(),
}

const hasOneAddress = ({ uri, uriTemplate }: { uri?: string | undefined; uriTemplate?: string | undefined }) =>
  (uri === undefined) !== (uriTemplate === undefined)
const ONE_ADDRESS = { path: ['uri'], message: 'or uriTemplate must be there, and not both' }

/** Everything about a resource but its code. Validated on load. */
export const ResourceFacts = z.strictObject(shape).refine(hasOneAddress, ONE_ADDRESS)
export type ResourceFacts = z.infer<typeof ResourceFacts>

/** A resource of an upstream. */
export const UpstreamResourceFacts = z
  .strictObject({
    ...shape,
    name: z.string().min(1).max(1024),
    short: z.string().max(16 * 1024),
    mimeType: z.string().max(200).optional(),
    uriTemplate: UpstreamUriTemplate.optional(),
  })
  .refine(hasOneAddress, ONE_ADDRESS)

const contents = { uri: z.string().min(1), mimeType: z.string().optional() }

/** The content of a resource: text, or bytes as base64. Unknown fields pass through, because they may matter to the client. */
export const ResourceContents = z.union(
  [z.looseObject({ ...contents, text: z.string() }), z.looseObject({ ...contents, blob: z.base64() })],
  'must have a uri, and a text or a blob of base64',
)
export type ResourceContents = z.infer<typeof ResourceContents>

/** A resource as discovery shows it; nothing has to run for it. */
export const ResourceDescriptor = z.object({
  name: z.string(),
  title: z.string(),
  short: z.string(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  uriTemplate: z.string().optional(),
})
export type ResourceDescriptor = z.infer<typeof ResourceDescriptor>

/** Adjacent expressions would be ambiguous, and a repeated name could contradict itself. */
function isTemplate(value: string): boolean {
  const variables = value.match(VARIABLE) ?? []
  const isAlone = !/\}\{/.test(value) && new Set(variables).size === variables.length
  return variables.length > 0 && isAlone && ABSOLUTE.test(value.replace(VARIABLE, 'x')) && /^[^{]*:/.test(value)
}

/** The scheme must be fixed: a template for any address would take over those of others. */
function isAnyTemplate(value: string): boolean {
  const text = value.replace(EXPRESSION, 'x')
  return text !== value && ABSOLUTE.test(text) && /^[^{]*:/.test(value)
}

/** A capability as discovery shows it. */
export const CapabilityDescriptor = z.object({
  key: Name,
  title: z.string(),
  short: z.string(),
  tools: z.array(ToolDescriptor),
  /** Absent when it brings none. */
  prompts: z.array(PromptDescriptor).optional(),
  resources: z.array(ResourceDescriptor).optional(),
  /** JSON Schema of the configuration without `tools`. */
  configSchema: z.record(z.string(), z.unknown()).optional(),
})
export type CapabilityDescriptor = z.infer<typeof CapabilityDescriptor>

/** What a resolver receives: its own configuration and the resolved list of tools. */
export const ResolvedConfig = z.looseObject({ tools: z.array(z.string()) })
export type ResolvedConfig = z.infer<typeof ResolvedConfig>

const stringRecord = z.record(z.string(), z.string())

/** An MCP server as agent engines take it. Ours are `sdk` and `http`; `stdio` is another program's. */
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

/** The result for one tool of one capability. */
export const ResolutionEntry = z.object({
  capability: z.string(),
  /** As an allowlist names it; `*` for all of a capability whose tools are not known. */
  tool: z.string(),
  /** The agent's name for it, where that differs. */
  calledAs: z.string().optional(),
  state: z.enum(['granted', 'unavailable', 'skipped']),
  reason: z.string().optional(),
})
export type ResolutionEntry = z.infer<typeof ResolutionEntry>

/** What an agent's capabilities resolve to, with the complete report. */
export const ResolvedCapabilities = z.object({
  mcpServers: z.record(z.string(), McpServerConfig),
  report: z.array(ResolutionEntry),
})
export type ResolvedCapabilities = z.infer<typeof ResolvedCapabilities>
