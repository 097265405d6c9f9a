import { lstat, mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { AgentConfig, AppError, ConsentOperationName, Name } from '../../contracts/index.ts'
import { agentFile, hashOf } from './agent-entry.ts'
import { type Fault, problemsError, toProblem } from './fault.ts'
import { changesBetween } from './json-changes.ts'
import { type JsonDocument, parseDocument, splitByteOrderMark } from './json-document.ts'
import { applyChange } from './json-edit.ts'
import { printLines } from './json-print.ts'
import { hasReference } from './references.ts'
import { checkSchema } from './schema-faults.ts'
import { isAbsent, readText, writeAtomically } from './text-file.ts'

export type AgentChange = (config: AgentConfig) => AgentConfig

export interface EditedAgent {
  file: string
  /** As it is written now, references not replaced. */
  config: AgentConfig
}

const ConsentOrReference = z
  .string()
  .refine(text => hasReference(text) || ConsentOperationName.safeParse(text).success, {
    error: issue => ConsentOperationName.safeParse(issue.input).error?.issues[0]?.message,
  })

/** An agent's file before references are replaced. */
const UnresolvedConfig = AgentConfig.extend({
  consent: z.strictObject({ allow: z.array(ConsentOrReference).default([]) }).optional(),
})

/** Changes an agent's file and leaves everything the change does not touch as it was written. */
export async function editAgent(
  projectDir: string,
  edit: { name: string; change: AgentChange; create: boolean },
): Promise<EditedAgent> {
  const file = agentFile(checkedName(edit.name))
  const path = join(projectDir, file)
  const current = await currentText(path, file)
  if (!current && !edit.create) {
    throw new AppError(
      'AGENT_NOT_FOUND',
      `There is no agent "${edit.name}": ${file} does not exist. Create it, or see "quartermaster agents".`,
    )
  }
  const { text, config } = current
    ? changedText(current.text, file, edit.change)
    : await freshText(projectDir, file, edit.change)
  if (text === current?.text) return { file, config }
  await mkdir(dirname(path), { recursive: true })
  const before = () => refuseIfChanged(path, file, current?.text)
  await writeAtomically(path, text, { before, ...(current && { mode: current.mode }) })
  return { file, config }
}

function checkedName(name: string): string {
  const parsed = Name.safeParse(name)
  if (parsed.success) return parsed.data
  throw new AppError(
    'AGENT_INVALID',
    `An agent cannot be named ${JSON.stringify(name)}: a name ${parsed.error.issues[0]?.message}.`,
  )
}

async function currentText(path: string, file: string): Promise<{ text: string; mode: number } | undefined> {
  if (await isLink(path)) throw new AppError('AGENT_INVALID', `${file} is a link. Edit the file it leads to.`)
  const read = await readText(path)
  if (read.kind === 'fault')
    throw new AppError('AGENT_INVALID', `${file} cannot be edited. ${read.message} ${read.mend}`)
  return read.kind === 'text' ? read : undefined
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink()
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

function changedText(current: string, file: string, change: AgentChange): { text: string; config: AgentConfig } {
  const { mark, text } = splitByteOrderMark(current)
  const document = parseDocument(text)
  const before = checked(document, file, 'cannot be edited until these problems are mended')
  // What JSON cannot say, `undefined` above all, is not to be written.
  const after: unknown = JSON.parse(JSON.stringify(change(structuredClone(before))))
  const changes = changesBetween({ written: document.value, before, after })
  const changed = mark + changes.reduce(applyChange, text)
  return { text: changed, config: verified(changed, file, after) }
}

async function freshText(
  projectDir: string,
  file: string,
  change: AgentChange,
): Promise<{ text: string; config: AgentConfig }> {
  const after = { ...(await schemaReference(projectDir)), ...change({ capabilities: {} }) }
  const text = `${printLines(JSON.parse(JSON.stringify(after)), { unit: '  ', eol: '\n' })}\n`
  return { text, config: verified(text, file, after) }
}

async function schemaReference(projectDir: string): Promise<{ $schema?: string }> {
  const found = await stat(join(projectDir, '.quartermaster/schemas/agent.schema.json')).catch(() => undefined)
  return found ? { $schema: '../.quartermaster/schemas/agent.schema.json' } : {}
}

/** Nothing is written before the new text was read back and says what was asked for. */
function verified(text: string, file: string, wanted: unknown): AgentConfig {
  const config = checked(parseDocument(text), file, 'would not be valid after this change, so nothing was written')
  if (isDeepStrictEqual(config, UnresolvedConfig.parse(wanted))) return config
  throw new AppError(
    'INTERNAL',
    `${file} is written in a way that this change cannot be put into. Edit it by hand; nothing was written.`,
  )
}

function checked(document: JsonDocument, file: string, summary: string): AgentConfig {
  const result = checkSchema(UnresolvedConfig, document.value, document)
  const faults: readonly Fault[] =
    document.value === undefined || !('faults' in result) ? document.faults : [...document.faults, ...result.faults]
  if ('value' in result && faults.length === 0) return result.value
  const source = { file, text: document.text, code: 'AGENT_INVALID' } as const
  throw problemsError(
    'AGENT_INVALID',
    `${file} ${summary}:`,
    faults.map(fault => toProblem(fault, source)),
  )
}

async function refuseIfChanged(path: string, file: string, expected: string | undefined): Promise<void> {
  const read = await readText(path)
  const found = read.kind === 'text' ? hashOf(read.text) : read.kind
  if (found === (expected === undefined ? 'absent' : hashOf(expected))) return
  throw new AppError(
    'EDIT_CONFLICT',
    `${file} was changed by someone else meanwhile, so nothing was written. Try again.`,
  )
}
