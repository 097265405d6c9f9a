import { createHash } from 'node:crypto'
import { AgentConfig, Name, type Problem } from '../../contracts/index.ts'
import type { AgentEntry } from '../../core/agents/index.ts'
import type { Secrets } from '../../core/catalogue/index.ts'
import { checkDocument } from './checked-document.ts'
import { toProblem } from './fault.ts'
import { parseDocument } from './json-document.ts'
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
  const problem = (message: string, mend: string): Problem => ({
    severity: 'error',
    code: 'AGENT_INVALID',
    where: file,
    subject,
    message,
    mend,
  })
  if (read.kind === 'fault') return { name, file, hash: '', problems: [problem(read.message, read.mend)] }
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
  const { value: config, faults } = checkDocument(document, AgentConfig, sources)
  return { name, file, hash, ...(config && { config }), problems: faults.map(fault => toProblem(fault, source)) }
}

/** Where an agent's file is, from the project folder; with "/" on every system, because it is shown and compared. */
export function agentFile(name: string): string {
  return `agents/${name}.json`
}

/** SHA-256 of a text. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
