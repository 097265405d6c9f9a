import type { JsonSchema } from '../../contracts/index.ts'
import type { Tool } from '../../core/catalogue/index.ts'
import type { SearchDocument } from '../../core/search/index.ts'

/** What can be searched of a tool: everything it says about itself in words. */
export function toolDocument(tool: Tool): SearchDocument {
  const { name, title, short, whenToUse, section, capability } = tool
  return {
    id: name,
    name,
    title,
    text: short,
    details: whenToUse,
    group: `${section} ${capability}`,
    parameters: parametersOf(tool.inputSchema),
    examples: tool.examples.map(({ query }) => query),
  }
}

function parametersOf({ properties }: JsonSchema): string[] {
  const entries = Object.entries((properties ?? {}) as Record<string, JsonSchema | boolean>)
  return entries.map(([name, schema]) => `${name} ${descriptionOf(schema)}`)
}

function descriptionOf(schema: JsonSchema | boolean): string {
  return typeof schema === 'object' && typeof schema?.description === 'string' ? schema.description : ''
}
