import type { DocState } from '../../contracts/index.ts'
import type { Tool } from '../catalogue/index.ts'
import { type Health, missingInWords } from '../health/index.ts'

/** As much of the health as says whether a tool works. */
export type ToolHealth = Pick<Health, 'availability' | 'missing'>

/** The state of a tool now, in words. */
export function toolState(tool: Tool, health: ToolHealth): DocState {
  const { active, recovering } = health.availability(tool)
  if (!active) return { state: 'disabled', reason: missingInWords(health.missing(tool)) }
  if (!recovering) return { state: 'active' }
  const reason = missingInWords(health.missing(tool, { withRecovering: true }))
  return { state: 'active', reason: `${reason} A call waits for it.` }
}

export interface CapabilityParts {
  /** Those that are offered. */
  readonly tools: readonly Tool[]
  /** Why others are not, one for each. */
  readonly withheld: readonly string[]
  /** Why its tools are not known yet. */
  readonly unseen: string | undefined
}

/** The state of a capability: it works as long as one of its tools does. */
export function capabilityState({ tools, withheld, unseen }: CapabilityParts, health: ToolHealth): DocState {
  const disabled = tools.filter(tool => !health.availability(tool).active)
  const missing = new Map(disabled.flatMap(tool => health.missing(tool)).map(one => [one.dependency, one]))
  const all = tools.length + withheld.length
  const works = disabled.length < tools.length
  const reasons = [
    tools.length === 0 ? unseen : undefined,
    works && disabled.length > 0 ? `${disabled.length} of its ${all} tools are disabled.` : undefined,
    missingInWords([...missing.values()]),
    unseen === undefined || tools.length > 0 ? withheldText(withheld, all) : undefined,
  ].filter(part => part !== undefined && part !== '')
  // Where there is nothing to call there is nothing that could fail.
  const state = works || reasons.length === 0 ? 'active' : 'disabled'
  return reasons.length === 0 ? { state } : { state, reason: reasons.join(' ') }
}

function withheldText(withheld: readonly string[], all: number): string | undefined {
  const [first, ...others] = new Set(withheld)
  if (first === undefined) return undefined
  return `${countText(withheld.length, all)} offered now: ${others.length === 0 ? first : 'the page of each says why.'}`
}

function countText(count: number, all: number): string {
  if (count === all) return all === 1 ? 'Its one tool is not' : `None of its ${all} tools is`
  return `${count} of its ${all} tools ${count === 1 ? 'is' : 'are'} not`
}
