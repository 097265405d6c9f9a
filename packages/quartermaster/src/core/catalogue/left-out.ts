import { AppError, type ToolDescriptor } from '../../contracts/index.ts'
import type { Capability, WithheldTool } from './capability.ts'
import type { UnitPlace } from './check-place.ts'
import type { CatalogueCapability, Tool } from './generation.ts'
import type { AnyTool } from './tool.ts'

/** Why a tool with a wrong definition is not there, for whoever cannot mend it. */
export const WRONG_DEFINITION = 'Its definition is wrong; `quartermaster doctor` says how.'

/** Why a tool whose name another one has is not there. Not which one: whoever reads it may not have that one. */
export const LOST_NAME =
  'Another tool has the name that it would be called by; `quartermaster doctor` says which one, and how to mend it.'

/** A tool as discovery shows it, by the name that allowlists use. */
export function describeTool({ name, ownName, title, short }: Tool): ToolDescriptor {
  return { name: ownName, title, short, ...(ownName === name ? {} : { calledAs: name }) }
}

/** The tools that a capability has and does not offer, by own names, each with the reason. */
export function leftOutOf(capability: Capability, sound: readonly Tool[], place: UnitPlace): WithheldTool[] {
  const known = new Set(sound.map(({ ownName }) => ownName))
  const held = capability.withheld.filter(({ name }) => !known.has(name))
  for (const { name } of held) known.add(name)
  const wrong = capability.tools.filter(tool => !known.has(String(tool?.ownName ?? tool?.name)))
  if (wrong.length === 0) return held
  const reason = reasons(place)
  return [...held, ...wrong.flatMap(tool => (typeof tool?.name === 'string' ? [leftOut(tool, reason(tool.name))] : []))]
}

/**
 * The tools that a capability had once, by own names. A server that has one again may not have been asked since, so whoever misses
 * it is told how to have that done.
 */
export function goneFrom({ key, gone }: Capability, { kind }: UnitPlace): WithheldTool[] {
  const step = kind === 'upstream' ? ` Look again: quartermaster upstreams restart ${key}` : ''
  return gone.map(tool => ({ ...tool, reason: `${tool.reason}${step}` }))
}

/** The tools of a capability of which nobody hears but who asks for them: that were there once, or that the owner has left out. */
export function absentTools({
  gone = [],
  unwanted = [],
}: Pick<CatalogueCapability, 'gone' | 'unwanted'>): WithheldTool[] {
  return [...gone, ...unwanted]
}

/**
 * Why nobody is offered anything under this name, if that is held back, was there once or is left out. Whose it would be counts
 * before who lost it.
 */
export function whyLeftOut(
  name: string,
  capabilities: Iterable<Pick<CatalogueCapability, 'leftOut' | 'gone' | 'unwanted'>>,
): string | undefined {
  const all = [...capabilities]
  const known = [...all.flatMap(({ leftOut: held }) => held), ...all.flatMap(absentTools)]
  const reasons = known.filter(one => (one.calledAs ?? one.name) === name).map(({ reason }) => reason)
  return reasons.find(reason => reason !== LOST_NAME) ?? reasons[0]
}

export function notOffered(tool: string, reason: string): AppError {
  return new AppError('TOOL_DISABLED', `"${tool}" is not offered now. ${reason}`, { details: { tool } })
}

/** A tool that cannot be offered, by both its names. */
export function leftOut({ name, ownName = name }: Pick<AnyTool, 'name' | 'ownName'>, reason: string): WithheldTool {
  return { name: ownName, reason, isWrong: true, ...(ownName === name ? {} : { calledAs: name }) }
}

/** Of an upstream's tool the first thing that is wrong is told at once: the owner can only leave it out. */
function reasons({ kind, problems }: UnitPlace): (name: string) => string {
  if (kind !== 'upstream') return () => WRONG_DEFINITION
  const first = new Map(problems.all.toReversed().map(({ subject, message }) => [subject, message]))
  return name => {
    const message = first.get(`tool:${name}`)
    return message === undefined ? WRONG_DEFINITION : cannotBeOffered(message)
  }
}

/** Why a tool of an upstream is not there: the owner cannot mend it, only leave it out or name it otherwise. */
export function cannotBeOffered(message: string): string {
  return `It cannot be offered: ${message}`
}
