import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '../../contracts/index.ts'
import { agentJsonSchema, configJsonSchema, schemaText } from './json-schemas.ts'
import {
  FIRST_AGENT,
  FIRST_AGENT_FILE,
  FIRST_AGENT_TEXT,
  installCommand,
  packageFiles,
  STARTING_FILES,
} from './starting-files.ts'
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
