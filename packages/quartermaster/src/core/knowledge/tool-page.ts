import type { Tool } from '../catalogue/index.ts'
import { commandUsage, line, paragraphs } from '../kernel/index.ts'
import { schemaTable } from './schema-table.ts'

/** The reference page of a tool, in Markdown, made from its definition. */
export function toolPage(tool: Tool): string {
  const parts = [
    `# ${line(tool.title)} (\`${tool.name}\`)`,
    line(tool.short),
    paragraphs(tool.whenToUse),
    tool.body,
    `## Input\n\n${schemaTable(tool.inputSchema)}`,
    tool.outputSchema && `## Output\n\n${schemaTable(tool.outputSchema)}`,
    `## Safety\n\n${safetyLines(tool).join('\n')}`,
    `## Command line\n\n${commandText(tool)}`,
    tool.examples.length > 0 && `## Examples\n\n${tool.examples.map(exampleBlock).join('\n\n')}`,
  ]
  return `${parts.filter(part => typeof part === 'string' && part !== '').join('\n\n')}\n`
}

function safetyLines(tool: Tool): string[] {
  const consent = tool.consent.length === 0 ? 'asks nobody' : `asks for consent: ${tool.consent.join(', ')}`
  return [
    `- ${changes(tool)}; ${tool.idempotent ? 'doing it twice is the same as once' : 'doing it twice does it twice'}; ${consent}.`,
    `- ends after ${tool.timeoutMs / 1000} s at the latest; answers with at most ${tool.maxResultBytes.toLocaleString('en')} bytes at once.`,
    ...RETRIES[tool.retry],
    ...tool.effects.map(({ name, kind }) => `- leaves something behind that is looked at: ${line(name)} (${kind}).`),
    ...TASKS[tool.asTask],
    ...(tool.requires.length === 0
      ? []
      : [`- is disabled where one of these is missing: ${tool.requires.join(', ')}.`]),
  ]
}

function changes({ mutates, mcp }: Tool): string {
  if (!mutates) return 'changes nothing'
  return mcp?.annotations?.destructiveHint === false ? 'changes something, and nothing is lost' : 'may change something'
}

const RETRIES: Readonly<Record<Tool['retry'], readonly string[]>> = {
  manual: [],
  replay: ['- is tried again by itself where its end is not known.'],
  verifyFirst: ['- where its end is not known, it is looked at what it has left behind before it is tried again.'],
}

const TASKS: Readonly<Record<Tool['asTask'], readonly string[]>> = {
  never: [],
  whenPossible: ['- may take long: a caller that can follow tasks gets one instead of waiting.'],
  always: ['- takes long: it is called as a task, by callers that can follow one.'],
}

function commandText(tool: Tool): string {
  const { name, command } = tool
  const usage = commandUsage(tool)
  if (usage) return `\`quartermaster do ${usage.words}\``
  const why = 'none' in command ? ` ${line(command.none)}` : ''
  return `It is no command of its own.${why} Call it by its name: \`quartermaster call ${name}\`.`
}

function exampleBlock({ query, input }: Tool['examples'][number]): string {
  return `${line(query)}\n\n\`\`\`json\n${JSON.stringify(input, null, 2)}\n\`\`\``
}
