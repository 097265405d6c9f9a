import { z } from 'zod'
import { AppError, TOOL_NAMES } from '../../contracts/index.ts'
import { type GatewayConfig, type Grant, suggestTool } from '../../core/agents/index.ts'
import { type Tool, toolDisabled } from '../../core/catalogue/index.ts'
import { toolState } from '../../core/knowledge/index.ts'

/** A tool's name as an agent gives it. Any short text: an unknown name is answered with a suggestion. */
export const ToolName = z.string().min(1).max(128).describe('The name of a tool, as find_tools gives it.')

/** Whether a tool works now, and if not, why. */
export const ToolState = z.object({
  state: z.enum(['active', 'disabled']),
  reason: z.string().optional().describe('Why it is disabled, or what a call would wait for.'),
})
export type ToolState = z.infer<typeof ToolState>

/** Each suggestion compares every name, and there may be ten thousand. */
const MOST_SUGGESTED = 3

/** The grants with these names. Tools that are not granted are answered like unknown ones. */
export function grantsNamed({ grants, withheld, isOffered }: GatewayConfig, names: readonly string[]): Grant[] {
  const found = names.map(name => grants.get(name) ?? name)
  const unknown = found.filter(one => typeof one === 'string')
  const held = withheld.find(entry => entry.reason !== undefined && unknown.includes(entry.calledAs ?? entry.tool))
  if (held?.reason !== undefined) throw toolDisabled(held.calledAs ?? held.tool, held.reason)
  if (unknown.length > 0) {
    const suggest = (name: string, i: number) =>
      i < MOST_SUGGESTED ? suggestTool(name, { names: grants.keys(), isOffered }) : ''
    const hints = unknown.map(suggest)
    const sentences = unknown.map((name, i) => `You have no tool "${name}".${hints[i]}`)
    const next = hints.some(hint => hint !== '') ? '' : ` Use ${TOOL_NAMES.find} to find the right name.`
    throw new AppError('TOOL_NOT_FOUND', `${sentences.join(' ')}${next}`)
  }
  return found.filter(one => typeof one !== 'string')
}

/** The state of a tool now, in words. */
export function stateOf(tool: Tool, { health }: GatewayConfig): ToolState {
  return toolState(tool, health)
}

/** Cuts a text and puts it on one line: a description must not look like several tools or crowd out the others. */
export function line(text: string, most: number): string {
  const flat = text.replace(/\s+/g, ' ').trim()
  return flat.length <= most ? flat : `${flat.slice(0, most - 1).trimEnd()}…`
}
