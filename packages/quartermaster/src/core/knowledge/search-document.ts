import type { JsonSchema } from '../../contracts/index.ts'
import { isDeprecated, type Knowledge, type Tool } from '../catalogue/index.ts'
import type { SearchDocument } from '../search/index.ts'
import type { Entry } from './entry.ts'
import { headingsOf } from './headings.ts'

/** What can be searched of an entry: everything it says about itself in words. */
export function searchDocument(entry: Entry): SearchDocument {
  const { of } = entry
  if ('tool' in of) return { ...toolDocument(of.tool), id: entry.path }
  if ('unit' in of) return { ...unitDocument(of.unit), id: entry.path }
  if ('withheld' in of) return { id: entry.path, name: of.withheld.name, title: entry.title, text: '' }
  const { key, title, short } = of.capability
  return { id: entry.path, name: key, title, text: short, tags: ['capability'] }
}

function toolDocument(tool: Tool): Omit<SearchDocument, 'id'> {
  const { name, title, short, whenToUse, section, capability } = tool
  return {
    name,
    title,
    text: short,
    details: whenToUse,
    group: `${section} ${capability}`,
    parameters: parametersOf(tool.inputSchema),
    examples: tool.examples.map(({ query }) => query),
    tags: tool.search ?? [],
    isDeprecated: isDeprecated(tool),
    ...(tool.body === undefined ? {} : { body: tool.body }),
  }
}

/** Its other names count as much as what people ask: they are what people call it. */
function unitDocument(unit: Knowledge): Omit<SearchDocument, 'id'> {
  const { path, title, kind, summary = '', whenToUse = '', body, tags, aliases, tools, command } = unit
  return {
    name: path,
    title,
    text: summary,
    details: [whenToUse, ...headingsOf(body)].join('\n'),
    body,
    examples: [...aliases, ...(command === undefined ? [] : [command])],
    tags,
    // Whoever sees directions has their tools. That others speak of a tool is nothing to those who have it not.
    group: [kind, ...(kind === 'directions' ? tools : [])].join(' '),
  }
}

function parametersOf({ properties }: JsonSchema): string[] {
  const entries = Object.entries((properties ?? {}) as Record<string, JsonSchema | boolean>)
  return entries.map(([name, schema]) => `${name} ${descriptionOf(schema)}`)
}

function descriptionOf(schema: JsonSchema | boolean): string {
  return typeof schema === 'object' && typeof schema?.description === 'string' ? schema.description : ''
}
