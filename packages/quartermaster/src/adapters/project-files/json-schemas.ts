import { z } from 'zod'
import { AgentConfig, type JsonSchema, ProjectConfig, SETTINGS } from '../../contracts/index.ts'

/** The JSON Schema of `quartermaster.config.json`, for editors. */
export function configJsonSchema(): JsonSchema {
  return forEditors(
    ProjectConfig,
    {
      title: 'Quartermaster: configuration of a project',
      description: 'quartermaster.config.json: upstreams, dependencies and settings of this folder.',
    },
    CONFIG_TEXTS,
  )
}

/** The JSON Schema of `agents/NAME.json`, for editors. */
export function agentJsonSchema(): JsonSchema {
  const description =
    "agents/NAME.json: one agent. What its capabilities say is all it may do; the file's name is the agent's."
  return forEditors(AgentConfig, { title: 'Quartermaster: an agent', description }, AGENT_TEXTS)
}

/** A schema as the text of a file. */
export function schemaText(schema: JsonSchema): string {
  return `${JSON.stringify(schema, null, 2)}\n`
}

interface EditorText {
  title?: string
  description?: string
  default?: unknown
}

const SCHEMA_REFERENCE = {
  title: 'Schema',
  description: 'Where an editor finds this schema. Means nothing to Quartermaster.',
}

const CONFIG_TEXTS: Readonly<Record<string, EditorText>> = {
  $schema: SCHEMA_REFERENCE,
  mcpServers: { title: 'MCP servers' },
  dependencies: { title: 'Dependencies' },
  allowedHosts: { title: 'Allowed hosts' },
  connections: { title: 'Connections' },
  'dependencies.*.enabled': {
    description: 'false: switched off. It is never probed and its tools stay disabled.',
    default: true,
  },
  'dependencies.*.probeTimeoutMs': { description: 'How long one probe may take, in milliseconds.' },
  'dependencies.*.recoveringSeconds': { description: 'How long it may be gone before its tools are.' },
  'dependencies.*.watchIntervalSeconds': { description: 'How often it is probed in the background.' },
  settings: { title: 'Settings' },
  ...Object.fromEntries(Object.entries(SETTINGS).map(([key, row]) => [`settings.${key}`, { default: row.default }])),
}

const AGENT_TEXTS: Readonly<Record<string, EditorText>> = {
  $schema: SCHEMA_REFERENCE,
  title: { title: 'Title', description: 'What people call the agent.' },
  description: { title: 'Description', description: 'What the agent is for.' },
  capabilities: {
    title: 'Capabilities',
    description: 'What the agent may use, by name. "quartermaster capabilities" lists what there is.',
  },
  'capabilities.*': { description: "The capability's own configuration; {} for none." },
  'capabilities.*.tools': { description: 'Only these tools. Left out: all of the capability. []: none.' },
  consent: { title: 'Consent', description: 'What the owner has said about asking.' },
  'consent.allow': { description: 'Operations that the owner allows this agent for good, such as "files.write".' },
  runDisabled: {
    title: 'Run disabled',
    description: 'Whether its calls may run a disabled tool anyway, with whenDisabled: run.',
  },
  view: {
    title: 'View',
    description:
      '"direct": it sees its tools. "gateway": it sees the few that find and call them. Left out: by their number.',
  },
  workspaceDir: {
    title: 'Working folder',
    description: "The agent's working folder; a relative one counts from the project folder.",
  },
  workspace: { title: 'Workspace', description: 'Its place in the organisation. Left out: directly below the root.' },
  'workspace.parent': { description: 'The agent of this folder that it is below; "root" is at the top.' },
  'workspace.role': { description: 'What it is there for, as others see it.' },
  'workspace.abilities': { description: 'Rights beyond tools.' },
}

function forEditors(schema: z.ZodType, about: EditorText, texts: Readonly<Record<string, EditorText>>): JsonSchema {
  // The older dialect says the same about these shapes and is understood by every editor.
  const { $schema, ...described } = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' })
  for (const [path, text] of Object.entries(texts)) describe(described, path.split('.'), text)
  // The last two are what VS Code asks before it marks comments and trailing commas as errors.
  return { $schema, ...about, ...described, allowComments: true, allowTrailingCommas: true }
}

type MutableSchema = Record<string, unknown>

function describe(schema: MutableSchema, path: readonly string[], text: EditorText): void {
  const target = path.reduce((at, key) => member(at, key), schema)
  Object.assign(target, text)
}

function member(schema: MutableSchema, key: string): MutableSchema {
  const properties = schema['properties'] as MutableSchema | undefined
  const found = key === '*' ? schema['additionalProperties'] : properties?.[key]
  // A text for a field that does not exist is a mistake in the tables above.
  if (typeof found !== 'object' || found === null) throw new Error(`the schema has no "${key}"`)
  return found as MutableSchema
}
