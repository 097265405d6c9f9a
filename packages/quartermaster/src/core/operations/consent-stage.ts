import { type AgentConfig, AppError, type ConsentOperation } from '../../contracts/index.ts'
import type { Generation, Tool } from '../catalogue/index.ts'
import type { ConsentedOnce } from './call-request.ts'

/** Who allowed a call, when anybody had to. */
export type Consent = { readonly operations: readonly string[]; readonly by: 'file' | 'owner' }

export interface ConsentQuestion {
  readonly tool: Tool
  readonly digest: string
  readonly agent: AgentConfig | undefined
  readonly consented: ConsentedOnce | undefined
  readonly operations: Generation['consentOperations']
}

/**
 * Decides whether persons allowed what this call does: by what the owner wrote in the agent's file, or by an answer for
 * exactly these arguments. Everything that is missing is asked for in one error.
 */
export function decideConsent({ tool, digest, agent, consented, operations }: ConsentQuestion): Consent | undefined {
  if (tool.consent.length === 0) return undefined
  const standing = new Set(agent?.consent?.allow)
  const unwritten = tool.consent.filter(name => !standing.has(name))
  if (unwritten.length === 0) return { operations: tool.consent, by: 'file' }
  // An answer to other arguments is no answer: allowing one deletion must not allow any.
  const answered = new Set(consented?.digest === digest ? consented.operations : [])
  const missing = unwritten.filter(name => !answered.has(name))
  if (missing.length === 0) return { operations: tool.consent, by: 'owner' }
  throw consentRequired(
    tool,
    missing.flatMap(name => operations.get(name) ?? []),
    digest,
  )
}

function consentRequired(tool: Tool, missing: readonly ConsentOperation[], digest: string): AppError {
  const names = missing.map(operation => `"${operation.name}" (${operation.weight}): ${operation.reason}`)
  const message =
    `"${tool.name}" needs a person's consent for ${names.join(', ')} ` +
    `The owner can answer at the terminal with \`quartermaster call\`, or allow it for good with \`quartermaster grant AGENT ${tool.capability} --consent NAME\`.`
  return new AppError('CONSENT_REQUIRED', message, { details: { tool: tool.name, digest, operations: missing } })
}
