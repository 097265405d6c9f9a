/** What a scenario wants called: what its context says, otherwise every tool once. */
export function callsFor({ scenario, tools, context }) {
  if (context.toolCalls)
    return context.toolCalls.filter(({ name }) => tools.some(tool => tool.name === name)).map(withoutNulls)
  if (scenario === 'initialize') return []
  if (scenario === 'json-schema-2020-12-preservation') return [echoOf(tools)]
  return tools.map(({ name, inputSchema }) => ({ name, arguments: argumentsFor(inputSchema) }))
}

/** Arguments are checked against the schema before they go anywhere, and `null` is no boolean; absent means the same here. */
function withoutNulls({ name, arguments: given }) {
  return { name, arguments: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) }
}

/** Sends back the schema of the one tool, as it arrived. */
function echoOf(tools) {
  const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema
  return { name: 'json_schema_echo', arguments: { schema } }
}

/** Something for each property. */
function argumentsFor({ properties = {} }) {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueFor(schema)]))
}

const VALUES = { string: 'text', number: 1, integer: 1, boolean: true, array: [], object: {} }

function valueFor({ type, default: usual, enum: choices }) {
  return usual ?? choices?.[0] ?? VALUES[type] ?? 'text'
}
