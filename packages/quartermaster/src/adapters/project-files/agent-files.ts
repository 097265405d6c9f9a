import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, messageOf, Name } from '../../contracts/index.ts'
import type { AgentEntry } from '../../core/agents/index.ts'
import type { Secrets } from '../../core/catalogue/index.ts'
import { canonicalJson, type Log } from '../../core/kernel/index.ts'
import { type AgentChange, type EditedAgent, editAgent } from './agent-editor.ts'
import { agentFile, hashOf, toAgentEntry } from './agent-entry.ts'
import { type FileWatch, type ProjectChange, watchProject } from './file-watch.ts'
import { CONFIG_FILE } from './find-project.ts'
import { createQueue } from './queue.ts'
import { type Environment, hasReference } from './references.ts'
import { isAbsent, readText } from './text-file.ts'

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
  /** One of them, read anew; `undefined` when there is no such file. */
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

/** The names of the agents of a project, by their files. Throws `CONFIG_INVALID` when nobody can tell. */
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
