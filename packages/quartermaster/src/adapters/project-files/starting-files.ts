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

/** The version that this repository has too, so that what a clone has installed is found without a network. */
const NODE_TYPES = '20.19.43'

/**
 * What an editor and npm need of a new project, by path. `quartermaster` is the very package that makes the project, wherever
 * it is: that works from a clone and from a packed file, without a registry.
 */
export function packageFiles(packageDir: string): Readonly<Record<string, string>> {
  return {
    'package.json': json({
      private: true,
      type: 'module',
      devDependencies: { '@types/node': NODE_TYPES, quartermaster: linkTo(packageDir) },
    }),
    // Imports may be written in all the ways that the bundler of project code understands.
    'tsconfig.json': json({
      compilerOptions: {
        target: 'es2023',
        module: 'preserve',
        types: ['node'],
        strict: true,
        noEmit: true,
        allowImportingTsExtensions: true,
        skipLibCheck: true,
      },
    }),
  }
}

/** The command that installs what an editor needs: what a `package.json` that was there already does not name is added to it. */
export function installCommand(packageDir: string, manifest: string | undefined): string[] {
  const wanted = { quartermaster: linkTo(packageDir), '@types/node': `@types/node@${NODE_TYPES}` }
  const missing = Object.entries(wanted).filter(([name]) => !new RegExp(`"${name}"\\s*:\\s*"`).test(manifest ?? ''))
  if (manifest === undefined || missing.length === 0) return ['npm', 'install']
  return ['npm', 'install', '--save-dev', ...missing.map(([, spec]) => spec)]
}

function linkTo(packageDir: string): string {
  return `file:${packageDir.replaceAll('\\', '/')}`
}

function json(value: unknown): string {
  return `${printLines(value, { unit: '  ', eol: '\n' })}\n`
}
