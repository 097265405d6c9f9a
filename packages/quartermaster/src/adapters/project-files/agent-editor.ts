import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { AgentConfig, AppError, ConsentOperationName, Name } from '../../contracts/index.ts'
import { agentFile } from './agent-entry.ts'
import { type Fault, problemsError, toProblem } from './fault.ts'
import { changesBetween } from './json-changes.ts'
import { type JsonDocument, parseDocument, splitByteOrderMark } from './json-document.ts'
import { applyChange } from './json-edit.ts'
import { printLines } from './json-print.ts'
import { hasReference } from './references.ts'
import { checkSchema } from './schema-faults.ts'
import { editText } from './text-edit.ts'

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
  const place = { path: join(projectDir, file), file, code: 'AGENT_INVALID' } as const
  const { config } = await editText(place, current => {
    if (current !== undefined) return changedText(current, file, edit.change)
    if (edit.create) return freshText(projectDir, file, edit.change)
    throw new AppError(
      'AGENT_NOT_FOUND',
      `There is no agent "${edit.name}": ${file} does not exist. Create it, or see "quartermaster agents".`,
    )
  })
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

function changedText(current: string, file: string, change: AgentChange): { text: string; config: AgentConfig } {
  const { mark, text } = splitByteOrderMark(current)
  const document = parseDocument(text)
  const before = checked(document, file, 'cannot be edited until these problems are fixed')
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
