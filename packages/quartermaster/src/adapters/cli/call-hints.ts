import { type Control, type ErrorCode, isAppError, type ToolDetail } from '../../contracts/index.ts'
import { toolOf } from './error-details.ts'
import type { Hints, Session } from './session.ts'

/** A call that failed. */
export interface FailedCall {
  readonly error: unknown
  readonly tool: string
  readonly agent: string
}

const NEEDS_CAPABILITY: ReadonlySet<ErrorCode> = new Set(['TOOL_NOT_FOUND', 'CONSENT_REQUIRED', 'AGENT_NOT_FOUND'])

/** What the next step behind a failed call names beside what was called. The owner, at the terminal, may know all of it. */
export async function hintsAfter(session: Session, control: Control, call: FailedCall): Promise<Hints> {
  const { error, agent } = call
  // A program reads the error as it is.
  if (session.json || !isAppError(error) || !NEEDS_CAPABILITY.has(error.code)) return {}
  const name = error.code === 'CONSENT_REQUIRED' ? (toolOf(error) ?? call.tool) : call.tool
  const tool = await orNothing(session.attend('Looking', on => control.tool({ name }, on)))
  if (!tool) return {}
  const { capability } = tool
  if (error.code !== 'TOOL_NOT_FOUND') return { capability }
  return { capability, ...(await lackOf(session, control, { agent, tool })) }
}

/**
 * Why an agent does not have a tool that exists; nothing when it does have it, and the error means another. Asked without word of
 * progress, so that nobody waits here for servers that have nothing to do with it.
 */
async function lackOf(
  session: Session,
  control: Control,
  { agent, tool: { name, ownName = name, capability } }: { agent: string; tool: ToolDetail },
): Promise<Hints> {
  const { signal } = session.host
  const check = await orNothing(session.attend('Looking', () => control.checkAgent({ name: agent }, { signal })))
  if (check?.ok === false) return { isAgentBroken: true }
  const own = (check?.report ?? []).filter(entry => entry.capability === capability).map(entry => entry.tool)
  if (own.includes(ownName)) return {}
  const all = await orNothing(session.attend('Looking', () => control.capabilities({}, { signal })))
  if (all?.every(({ key }) => key !== capability)) return { comesAlong: true }
  const agents = await orNothing(session.attend('Looking', () => control.agents({}, { signal })))
  const isNarrowed = agents?.some(each => each.name === agent && each.capabilities.includes(capability))
  // Whoever has the capability without the tool has it narrowed, and a grant leaves that as it is unless it says otherwise.
  return { grant: isNarrowed ? { capability, tools: [...own, ownName] } : { capability } }
}

/** A hint that cannot be had is left out: the error before it is what must be told. */
function orNothing<T>(work: Promise<T>): Promise<T | undefined> {
  return work.catch(() => undefined)
}
