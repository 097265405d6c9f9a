import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '../../contracts/index.ts'
import { printLines } from './json-edit.ts'
import { agentJsonSchema, configJsonSchema, schemaText } from './json-schemas.ts'
import { readText, writeAtomically } from './text-file.ts'

export interface InitializedProject {
  /** Written: new files, and those that were overwritten or added to. */
  created: string[]
  /** Left as they were. */
  kept: string[]
  /** The command that installs the types for an editor, to be run in the project folder. */
  install: string[]
}

type Report = Pick<InitializedProject, 'created' | 'kept'>

/** Writes a starting project for the package at `packageDir`. What exists is kept unless `force` says to overwrite it. */
export async function initProject({
  dir,
  packageDir,
  force = false,
}: {
  dir: string
  packageDir: string
  force?: boolean
}): Promise<InitializedProject> {
  const report: Report = { created: [], kept: [] }
  const manifest = await readText(join(dir, 'package.json'))
  await mkdir(join(dir, DATA_DIR), { recursive: true, mode: 0o700 })
  for (const [file, text] of Object.entries(STARTING_FILES))
    await put(dir, file, force ? () => text : current => current ?? text, report)
  // Kept also by force: other tools of the project depend on these two.
  for (const [file, text] of Object.entries(packageFiles(packageDir)))
    await put(dir, file, current => current ?? text, report)
  await put(dir, '.gitignore', withIgnored, report)
  // The schemas are ours, and follow the version.
  await put(dir, `${DATA_DIR}/schemas/config.schema.json`, () => schemaText(configJsonSchema()), report)
  await putAgentSchema(dir, report)
  return { ...report, install: installCommand(packageDir, manifest.kind === 'text' ? manifest.text : undefined) }
}

/** Writes the first agent of a folder that has none, and what its file refers to. Answers its name. */
export async function writeFirstAgent({ dir }: { dir: string }): Promise<string> {
  const report: Report = { created: [], kept: [] }
  await mkdir(join(dir, DATA_DIR), { recursive: true, mode: 0o700 })
  await putAgentSchema(dir, report)
  await put(dir, FIRST_AGENT_FILE, current => current ?? FIRST_AGENT_TEXT, report)
  return FIRST_AGENT
}

function putAgentSchema(dir: string, report: Report): Promise<void> {
  return put(dir, `${DATA_DIR}/schemas/agent.schema.json`, () => schemaText(agentJsonSchema()), report)
}

const DATA_DIR = '.quartermaster'

async function put(
  dir: string,
  file: string,
  next: (current: string | undefined) => string,
  report: Report,
): Promise<void> {
  const path = join(dir, file)
  const read = await readText(path)
  if (read.kind === 'fault') throw new AppError('CONFIG_INVALID', `${path} is in the way. ${read.message} ${read.fix}`)
  const current = read.kind === 'text' ? read.text : undefined
  const text = next(current)
  if (text === current) return void report.kept.push(file)
  await mkdir(dirname(path), { recursive: true })
  await writeAtomically(path, text, read.kind === 'text' ? { mode: read.mode } : {})
  report.created.push(file)
}

function withIgnored(current = ''): string {
  const lines = new Set(current.split('\n').map(line => line.trim().replace(/^\/|\/$/g, '')))
  const missing = [DATA_DIR, 'node_modules'].filter(name => !lines.has(name))
  const eol = current.includes('\r\n') ? '\r\n' : '\n'
  const gap = current === '' || current.endsWith('\n') || missing.length === 0 ? '' : eol
  return `${current}${gap}${missing.map(name => `${name}/${eol}`).join('')}`
}

/** The agent that a new project begins with. */
export const FIRST_AGENT = 'default'
export const FIRST_AGENT_FILE = `agents/${FIRST_AGENT}.json`

/** It may read the folder, and nothing else. */
export const FIRST_AGENT_TEXT = json({
  $schema: '../.quartermaster/schemas/agent.schema.json',
  capabilities: { files: { dirs: ['.'], tools: ['read_file', 'list_files', 'search_files'] } },
})

/** The files of a new project, by their path in it. */
const STARTING_FILES: Readonly<Record<string, string>> = {
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
function packageFiles(packageDir: string): Readonly<Record<string, string>> {
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
function installCommand(packageDir: string, manifest: string | undefined): string[] {
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
