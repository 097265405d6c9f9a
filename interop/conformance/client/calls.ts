import type { Tool } from '@modelcontextprotocol/client'

/** What a scenario says about itself. */
export interface Context {
  readonly toolCalls?: readonly Call[]
  readonly client_id?: string
  readonly client_secret?: string
}

export interface Call {
  readonly name: string
  readonly arguments: Record<string, unknown>
}

export interface CallsWanted {
  readonly scenario: string
  readonly tools: readonly Tool[]
  readonly context: Context
}

/** What a scenario wants called: what its context says, otherwise every tool once. */
export function callsFor({ scenario, tools, context }: CallsWanted): readonly Call[] {
  if (context.toolCalls)
    return context.toolCalls.filter(({ name }) => tools.some(tool => tool.name === name)).map(withoutNulls)
  if (scenario === 'initialize') return []
  if (scenario === 'json-schema-2020-12-preservation') return [echoOf(tools)]
  return tools.map(({ name, inputSchema }) => ({ name, arguments: argumentsFor(inputSchema) }))
}

/** Arguments are checked against the schema before they go anywhere, and `null` is no boolean; absent means the same here. */
function withoutNulls({ name, arguments: given }: Call): Call {
  return { name, arguments: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) }
}

/** Sends back the schema of the one tool, as it arrived. */
function echoOf(tools: readonly Tool[]): Call {
  const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema
  return { name: 'json_schema_echo', arguments: { schema } }
}

/** Something for each property. */
function argumentsFor({ properties = {} }: Tool['inputSchema']): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueFor(schema as Described)]))
}

const VALUES: Readonly<Record<string, unknown>> = {
  string: 'text',
  number: 1,
  integer: 1,
  boolean: true,
  array: [],
  object: {},
}

interface Described {
  readonly type?: unknown
  readonly default?: unknown
  readonly enum?: readonly unknown[]
}

function valueFor(schema: Described): unknown {
  return schema.default ?? schema.enum?.[0] ?? VALUES[String(schema.type)] ?? 'text'
}
