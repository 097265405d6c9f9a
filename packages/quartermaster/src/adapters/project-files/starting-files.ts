import { printLines } from './json-print.ts'

/** The agent that a new project begins with. */
export const FIRST_AGENT = 'default'
export const FIRST_AGENT_FILE = `agents/${FIRST_AGENT}.json`

/** It may read the folder, and nothing else. */
export const FIRST_AGENT_TEXT = json({
  $schema: '../.quartermaster/schemas/agent.schema.json',
  capabilities: { files: { dirs: ['.'], tools: ['read_file', 'list_files', 'search_files'] } },
})

/** The files of a new project, by their path in it. */
export const STARTING_FILES: Readonly<Record<string, string>> = {
  'quartermaster.config.json': json({ $schema: './.quartermaster/schemas/config.schema.json', settings: {} }),
  [FIRST_AGENT_FILE]: FIRST_AGENT_TEXT,
  'capabilities/hello.ts': `// A first tool of your own. How to go on: the docs folder of the Quartermaster repository.
import { defineCapability, defineTool } from 'quartermaster'

const hello = defineTool({
  name: 'hello',
  short: 'Greets someone by name.',
  input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false },
  mutates: false,
  handler: ({ name }) => \`Hello, \${name}!\`,
})

export default defineCapability({ key: 'hello', short: 'Greets people.', tools: [hello] })
`,
}

function json(value: unknown): string {
  return `${printLines(value, { unit: '  ', eol: '\n' })}\n`
}
