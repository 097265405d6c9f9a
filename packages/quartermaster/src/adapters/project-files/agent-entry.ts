import { createHash } from 'node:crypto'
import { AgentConfig, Name, type Problem } from '../../contracts/index.ts'
import type { AgentEntry } from '../../core/agents/index.ts'
import type { Secrets } from '../../core/catalogue/index.ts'
import { checkDocument } from './checked-document.ts'
import { type Fault, toProblem } from './fault.ts'
import { type JsonDocument, parseDocument } from './json-document.ts'
import type { Environment } from './references.ts'
import type { TextRead } from './text-file.ts'

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
  // What is wrong inside capabilities takes away these alone; anything else leaves nothing that could be relied on.
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

/** The capabilities that all these faults are in, each with what is wrong; nothing when one is elsewhere. */
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
