import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { AgentConfig, AppError, ConsentOperationName, messageOf, Name } from '../../contracts/index.ts'
import type { AgentEntry } from '../../core/agents/index.ts'
import type { Secrets } from '../../core/catalogue/index.ts'
import { canonicalJson, type Log } from '../../core/kernel/index.ts'
import { agentFile, editText, hashOf, toAgentEntry } from './agent-entry.ts'
import { createQueue } from './config-editor.ts'
import { type Fault, problemsError, toProblem } from './faults.ts'
import { type FileWatch, type ProjectChange, watchProject } from './file-watch.ts'
import { type JsonDocument, parseDocument, splitByteOrderMark } from './json-document.ts'
import { applyChange, changesBetween, printLines } from './json-edit.ts'
import { type Environment, hasReference } from './references.ts'
import { checkSchema } from './schema-faults.ts'
import { CONFIG_FILE, isAbsent, readText } from './text-file.ts'

export interface AgentFilesOptions {
  projectDir: string
  /** Watched beside the agents; in the project folder, under its usual name when absent. */
  configFile?: string
  env: Environment
  secrets: Secrets
  watch: boolean
  log: Log
}

/** The agents of a project folder. */
export interface AgentFiles {
  /** All of them, sorted by name. An agent whose text and references are unchanged is the same object as before. */
  load(): Promise<AgentEntry[]>
  /** Reads one agent's file; `undefined` when there is none. */
  read(name: string): Promise<AgentEntry | undefined>
  /** Whether an agent's file may name this capability. Also of one that is wrong, by its text; one that cannot be read may. */
  mayName(name: string, capability: string): Promise<boolean>
  /** Calls back when files changed, or may have before they were watched, if watching is on. Returns how to stop. */
  onChange(listener: (change: ProjectChange) => void): () => void
  /** Resolves when a change would be noticed. */
  watching(): Promise<void>
  /** Changes one agent's file in place. Throws `EDIT_CONFLICT` when someone else changed it meanwhile. */
  edit(name: string, change: AgentChange, options?: { create?: boolean }): Promise<EditedAgent>
  close(): Promise<void>
}

/** Reads, watches and edits `agents/*.json`. */
export function createAgentFiles(options: AgentFilesOptions): AgentFiles {
  const { projectDir, configFile = join(projectDir, CONFIG_FILE), log } = options
  const readEntry = createEntryReader(options)
  const listeners = new Set<(change: ProjectChange) => void>()
  const edits = createQueue()
  let watch: FileWatch | undefined
  let closed = false
  const tell = (change: ProjectChange) => tellAll(listeners, change, log)
  return {
    async load() {
      const entries = await Promise.all((await agentNames(projectDir)).map(readEntry))
      return entries.filter(entry => entry !== undefined)
    },
    read: async name => (Name.safeParse(name).success ? readEntry(name) : undefined),
    async mayName(name, capability) {
      const read = await readText(join(projectDir, agentFile(name)))
      return read.kind === 'text' ? read.text.includes(JSON.stringify(capability)) : read.kind === 'fault'
    },
    onChange(listener) {
      if (closed) return () => undefined
      listeners.add(listener)
      if (options.watch) watch ??= watchProject({ projectDir, configFile, log, onChange: tell })
      return () => void listeners.delete(listener)
    },
    watching: async () => watch?.ready,
    edit: (name, change, { create = false } = {}) => edits(() => editAgent(projectDir, { name, change, create })),
    async close() {
      closed = true
      listeners.clear()
      await watch?.close()
    },
  }
}

/** Reads single agents and remembers what it made of each, so that what did not change stays the same object. */
function createEntryReader({
  projectDir,
  env,
  secrets,
}: AgentFilesOptions): (name: string) => Promise<AgentEntry | undefined> {
  const known = new Map<string, AgentEntry>()
  return async name => {
    const read = await readText(join(projectDir, agentFile(name)))
    const last = known.get(name)
    if (read.kind === 'absent') return void known.delete(name)
    if (read.kind === 'text' && last?.hash === hashOf(read.text) && !hasReference(read.text)) return last
    const entry = toAgentEntry(name, read, { env, secrets })
    // A text with references may mean something else now, so what came of it is compared.
    if (last && canonicalJson(last) === canonicalJson(entry)) return last
    known.set(name, entry)
    return entry
  }
}

/** The names of the agents of a project, by their files. Throws `CONFIG_INVALID` when the folder cannot be read. */
export async function agentNames(projectDir: string): Promise<string[]> {
  try {
    const files = await readdir(join(projectDir, 'agents'))
    // Editors keep locks and swap files under names that begin with a dot.
    const names = files
      .filter(file => file.endsWith('.json') && !file.startsWith('.'))
      .map(file => file.slice(0, -'.json'.length))
    return names.sort()
  } catch (error) {
    if (isAbsent(error)) return []
    throw new AppError(
      'CONFIG_INVALID',
      `The folder agents/ cannot be read: ${messageOf(error)}. Make it a readable folder.`,
      { cause: error },
    )
  }
}

function tellAll(listeners: Iterable<(change: ProjectChange) => void>, change: ProjectChange, log: Log): void {
  for (const listener of listeners) {
    try {
      listener(change)
    } catch (error) {
      log.error('A listener to changed project files failed.', { reason: messageOf(error) })
    }
  }
}

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
async function editAgent(
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
  // Refuses values that JSON has no form for, mainly `undefined`.
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

/** Reads the new text back before it is written, and refuses it unless it has the wanted value. */
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
