import { absentTools, type CatalogueCapability, type WithheldTool } from '../catalogue/index.ts'
import { didYouMean } from '../kernel/index.ts'
import type { CapabilityIssue } from './grants.ts'

/** What an agent's list of tools comes to. All names are own names: those the capability's author gave. */
export interface Allowlist {
  /** Asked for, whether it can be had or not. */
  readonly names: readonly string[]
  /** Asked for and offered. */
  readonly offered: ReadonlySet<string>
  /** Asked for and not offered now, each with the reason. */
  readonly withheld: readonly WithheldTool[]
  /** What was there once or is left out, where all there is was asked for: told to whoever calls one. */
  readonly absent: readonly WithheldTool[]
}

interface CheckedList {
  /** The list without doubles and unknown names. */
  readonly tools: readonly string[] | undefined
  readonly unknown: readonly WithheldTool[]
  readonly issues: readonly CapabilityIssue[]
}

/** `tools` is ours: omitted means all, `[]` none; no wildcards, no doubles, no unknown names. */
export function checkAllowlist(tools: readonly string[] | undefined, capability: CatalogueCapability): CheckedList {
  const known = [...capability.descriptors, ...capability.leftOut].map(({ name }) => name)
  // A server that drops a tool, or an owner who leaves one out, must not take all others from whoever names it.
  const isKnown = new Set([...known, ...absentTools(capability).map(({ name }) => name)])
  const seen = new Set<string>()
  const unknown = new Map<string, string>()
  const issues = (tools ?? []).flatMap((name, index) => {
    if (seen.has(name)) return [issue(index, `"${name}" is listed twice.`)]
    seen.add(name)
    // What nobody has seen yet is neither right nor wrong.
    if (isKnown.has(name) || capability.unseen !== undefined) return []
    const hint = calledAsHint(name, capability) || didYouMean(name, known) || ` It has: ${someOf(known)}.`
    const message = `Capability "${capability.key}" has no tool "${name}".${hint}`
    unknown.set(name, message)
    return [issue(index, message)]
  })
  return {
    tools: tools && [...seen].filter(name => !unknown.has(name)),
    unknown: [...unknown].map(([name, reason]) => ({ name, reason })),
    issues,
  }
}

/** Divides what was asked for, which was checked, into what is offered and what is not. */
export function readAllowlist(tools: readonly string[] | undefined, capability: CatalogueCapability): Allowlist {
  const { descriptors, leftOut, unseen } = capability
  const absent = absentTools(capability)
  const offered = new Set(descriptors.map(({ name }) => name))
  // Of what is gone or left out only those hear who ask for it.
  const held = new Map([...(tools ? absent : []), ...leftOut].map(tool => [tool.name, tool]))
  const names = tools ?? [...offered, ...held.keys(), ...(unseen === undefined ? [] : ['*'])]
  return {
    names,
    offered: new Set(names.filter(name => offered.has(name))),
    withheld: names.flatMap(name => {
      if (offered.has(name)) return []
      return held.get(name) ?? (unseen === undefined ? [] : [{ name, reason: unseen }])
    }),
    absent: tools ? [] : absent,
  }
}

/** A server may have thousands, and the message is one line. */
function someOf(names: readonly string[]): string {
  const left = names.length - MOST_NAMES
  return `${names.slice(0, MOST_NAMES).join(', ') || 'none'}${left > 0 ? `, and ${left} more` : ''}`
}

const MOST_NAMES = 20

function issue(index: number, message: string): CapabilityIssue {
  return { code: 'CONFIG_INVALID', path: ['tools', index], message }
}

/** Whoever looks at an agent's tools sees the names they are called by, and writes those. */
function calledAsHint(name: string, { descriptors }: CatalogueCapability): string {
  const meant = descriptors.find(({ calledAs }) => calledAs === name)
  return meant ? ` Here it is listed as its server calls it: "${meant.name}".` : ''
}
