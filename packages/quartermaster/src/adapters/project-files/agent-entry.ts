import { createHash } from 'node:crypto'
import { lstat, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AgentConfig, AppError, Name, type Problem } from '../../contracts/index.ts'
import type { AgentEntry } from '../../core/agents/index.ts'
import type { Secrets } from '../../core/catalogue/index.ts'
import { type Fault, toProblem } from './faults.ts'
import { type JsonDocument, parseDocument } from './json-document.ts'
import type { Environment } from './references.ts'
import { checkDocument } from './schema-faults.ts'
import { isAbsent, readText, type TextRead, writeAtomically } from './text-file.ts'

/** Reads one agent's text. What is wrong with it concerns this agent only. */
export function toAgentEntry(
  name: string,
  read: Exclude<TextRead, { kind: 'absent' }>,
  sources: { env: Environment; secrets: Secrets },
): AgentEntry {
  const file = agentFile(name)
  const subject = `agent:${name}`
  const problem = (message: string, fix: string): Problem => ({
    severity: 'error',
    code: 'AGENT_INVALID',
    where: file,
    subject,
    message,
    fix,
  })
  if (read.kind === 'fault') return { name, file, hash: '', problems: [problem(read.message, read.fix)] }
  const hash = hashOf(read.text)
  const named = Name.safeParse(name)
  if (!named.success)
    return {
      name,
      file,
      hash,
      problems: [problem(`An agent's name ${named.error.issues[0]?.message}.`, 'Rename the file.')],
    }
  const document = parseDocument(read.text)
  const source = { file, text: document.text, code: 'AGENT_INVALID', subject } as const
  if (document.value === undefined)
    return { name, file, hash, problems: document.faults.map(fault => toProblem(fault, source)) }
  const { value: whole, faults } = checkDocument(document, AgentConfig, sources)
  const wrong = whole ? {} : wrongCapabilities(faults)
  // A fault inside a capability takes away that capability alone; any other fault makes the whole file unusable.
  const config = whole ?? (wrong && checkDocument(without(document, wrong), AgentConfig, sources).value)
  return {
    name,
    file,
    hash,
    ...(config && { config }),
    ...(config && wrong && !whole && { wrong }),
    problems: faults.map(fault => toProblem(fault, source)),
  }
}

/** The capabilities with a fault, each with its first one; `undefined` if a fault is elsewhere. */
function wrongCapabilities(faults: readonly Fault[]): Record<string, string> | undefined {
  const found = new Map<string, string>()
  for (const { path, message } of faults) {
    const [root, key, ...inside] = path
    if (root !== 'capabilities' || key === undefined) return undefined
    const where = inside.length === 0 ? '' : ` at "${inside.join('.')}"`
    found.set(String(key), found.get(String(key)) ?? `Its configuration is wrong${where}: ${message}`)
  }
  return Object.fromEntries(found)
}

function without(document: JsonDocument, keys: Readonly<Record<string, string>>): JsonDocument {
  const value = document.value as { readonly capabilities: Readonly<Record<string, unknown>> }
  const kept = Object.entries(value.capabilities).filter(([key]) => !Object.hasOwn(keys, key))
  return { ...document, value: { ...value, capabilities: Object.fromEntries(kept) } }
}

/** Where an agent's file is, from the project folder; with "/" on every system, because it is shown and compared. */
export function agentFile(name: string): string {
  return `agents/${name}.json`
}

/** SHA-256 of a text. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** A file that is about to be changed. */
export interface EditedFile {
  readonly path: string
  /** Its name in messages. */
  readonly file: string
  /** The code of the error for an unfit file. */
  readonly code: 'AGENT_INVALID' | 'CONFIG_INVALID'
  /** Set on the file whatever it had before; kept when absent. */
  readonly mode?: number
  /** Of the folder, where that has to be made. */
  readonly folderMode?: number
}

/** Changes a file, or only previews the change. */
export type Edit = typeof editText

/**
 * Changes a text file in one step, and answers what made the new text. Nothing is written when it stays the same, and
 * nothing is lost that someone else wrote meanwhile: that is an `EDIT_CONFLICT`.
 */
export async function editText<T extends { readonly text: string }>(
  edited: EditedFile,
  next: (current: string | undefined) => Promise<T> | T,
): Promise<T> {
  const { path, mode, folderMode } = edited
  const current = await currentText(edited)
  const answer = await next(current?.text)
  if (answer.text === current?.text) return answer
  await mkdir(dirname(path), { recursive: true, ...(folderMode !== undefined && { mode: folderMode }) })
  const before = () => refuseIfChanged(edited, current?.text)
  const wanted = mode ?? current?.mode
  await writeAtomically(path, answer.text, wanted === undefined ? { before } : { before, mode: wanted })
  return answer
}

/** Previews changes without writing: each sees the results of those before it. */
export function previewEdits(): Edit {
  const texts = new Map<string, string>()
  return async (edited, next) => {
    const current = texts.get(edited.path) ?? (await currentText(edited))?.text
    const answer = await next(current)
    texts.set(edited.path, answer.text)
    return answer
  }
}

async function currentText({ path, file, code }: EditedFile): Promise<{ text: string; mode: number } | undefined> {
  if (await isLink(path)) throw new AppError(code, `${file} is a link. Edit the file it leads to.`)
  const read = await readText(path)
  if (read.kind === 'fault') throw new AppError(code, `${file} cannot be edited. ${read.message} ${read.fix}`)
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

async function refuseIfChanged({ path, file }: EditedFile, expected: string | undefined): Promise<void> {
  const read = await readText(path)
  const found = read.kind === 'text' ? hashOf(read.text) : read.kind
  if (found === (expected === undefined ? 'absent' : hashOf(expected))) return
  throw new AppError(
    'EDIT_CONFLICT',
    `${file} was changed by someone else meanwhile, so nothing was written. Try again.`,
  )
}
