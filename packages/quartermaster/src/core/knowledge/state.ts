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

/** The state of a capability: it works as long as one of its tools does. */
export function capabilityState(
  tools: readonly Tool[],
  { health, unseen }: { health: ToolHealth; unseen: string | undefined },
): DocState {
  if (tools.length === 0) return unseen === undefined ? { state: 'active' } : { state: 'disabled', reason: unseen }
  const disabled = tools.filter(tool => !health.availability(tool).active)
  if (disabled.length === 0) return { state: 'active' }
  const missing = new Map(disabled.flatMap(tool => health.missing(tool)).map(one => [one.dependency, one]))
  const reason = missingInWords([...missing.values()])
  if (disabled.length === tools.length) return { state: 'disabled', reason }
  return { state: 'active', reason: `${disabled.length} of its ${tools.length} tools are disabled. ${reason}` }
}
