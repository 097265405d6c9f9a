import type { JsonSchema } from '../../contracts/index.ts'
import type { Tool } from '../catalogue/index.ts'

/** The reference page of a tool, in Markdown, made from its definition. */
export function toolPage(tool: Tool): string {
  const parts = [
    `# ${tool.title} (\`${tool.name}\`)`,
    tool.short,
    tool.whenToUse,
    `## Input\n\n${schemaTable(tool.inputSchema)}`,
    tool.outputSchema && `## Output\n\n${schemaTable(tool.outputSchema)}`,
    `## Safety\n\n${safetyLines(tool).join('\n')}`,
    tool.examples.length > 0 && `## Examples\n\n${tool.examples.map(exampleBlock).join('\n\n')}`,
  ]
  return `${parts.filter(part => typeof part === 'string' && part !== '').join('\n\n')}\n`
}

function schemaTable(schema: JsonSchema): string {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
  if (properties.length === 0) return '_Nothing in particular._'
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const rows = properties.map(([name, one]) => {
    const description = typeof one.description === 'string' ? one.description : ''
    return `| \`${cell(name)}\` | ${cell(typeText(one))} | ${required.has(name) ? 'yes' : 'no'} | ${cell(description)} |`
  })
  return ['| name | type | required | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

function typeText(schema: JsonSchema): string {
  if (Array.isArray(schema.enum)) return schema.enum.map(value => JSON.stringify(value)).join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (Array.isArray(schema.type)) return schema.type.join(' or ')
  if (schema.type === 'array') return `list of ${typeText((schema.items ?? {}) as JsonSchema)}`
  return typeof schema.type === 'string' ? schema.type : 'any'
}

/** A table cell ends at a bar or a line break, whatever the text meant by it. */
function cell(text: string): string {
  return text.replace(/\|/g, '\\|').replace(/\s+/g, ' ')
}

function safetyLines(tool: Tool): string[] {
  const consent = tool.consent.length === 0 ? 'asks nobody' : `asks for consent: ${tool.consent.join(', ')}`
  return [
    `- ${tool.mutates ? 'may change something' : 'changes nothing'}; ${tool.idempotent ? 'doing it twice is the same as once' : 'doing it twice does it twice'}; ${consent}.`,
    `- ends after ${tool.timeoutMs / 1000} s at the latest; answers with at most ${tool.maxResultBytes} bytes at once.`,
    ...TASKS[tool.asTask],
  ]
}

const TASKS: Readonly<Record<Tool['asTask'], readonly string[]>> = {
  never: [],
  whenPossible: ['- may take long: a caller that can follow tasks gets one instead of waiting.'],
  always: ['- takes long: it is called as a task, by callers that can follow one.'],
}

function exampleBlock({ query, input }: Tool['examples'][number]): string {
  return `${query}\n\n\`\`\`json\n${JSON.stringify(input, null, 2)}\n\`\`\``
}
