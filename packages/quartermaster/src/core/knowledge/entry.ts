import type { DocKind } from '../../contracts/index.ts'
import type { CatalogueCapability, Knowledge, Tool, WithheldTool } from '../catalogue/index.ts'

/** Something that can be read about: a unit, a capability or a tool. */
export interface Entry {
  readonly path: string
  readonly kind: DocKind
  readonly title: string
  readonly summary: string
  readonly whenToUse: string
  readonly command: string | undefined
  readonly tools: readonly string[]
  readonly tags: readonly string[]
  readonly aliases: readonly string[]
  /** What it lies below beside its folder. */
  readonly parents: readonly string[]
  readonly seeAlso: readonly string[]
  readonly hash: string
  readonly of:
    | { readonly unit: Knowledge }
    | { readonly capability: CatalogueCapability }
    | { readonly tool: Tool }
    | { readonly withheld: WithheldEntry }
}

/** A tool that is not offered. What it says about itself is not shown: it may be the reason. */
export interface WithheldEntry {
  /** The name it would be called by. */
  readonly name: string
  readonly capability: string
  readonly reason: string
}

// No unit has a colon in its path, so whatever a project writes hides no tool and no capability. A recheck names them alike.
export const toolPath = (name: string): string => `tool:${name}`
export const capabilityPath = (key: string): string => `capability:${key}`

/** The name of the tool that a path leads to, if it leads to one. */
export function toolAt(path: string): string | undefined {
  return path.startsWith('tool:') ? path.slice('tool:'.length) : undefined
}

export function unitEntry(unit: Knowledge): Entry {
  const { path, kind, title, summary = '', whenToUse = '', tools, tags, aliases, parents, seeAlso, hash } = unit
  // Nobody can call anything else by a word.
  const command = kind === 'directions' ? unit.command : undefined
  return { path, kind, title, summary, whenToUse, command, tools, tags, aliases, parents, seeAlso, hash, of: { unit } }
}

export function capabilityEntry(capability: CatalogueCapability): Entry {
  const { key, title, short, hash } = capability
  return {
    path: capabilityPath(key),
    kind: 'capability',
    title,
    summary: short,
    whenToUse: '',
    command: undefined,
    tools: capability.tools.map(({ name }) => name),
    tags: NONE,
    aliases: NONE,
    parents: NONE,
    seeAlso: NONE,
    hash,
    of: { capability },
  }
}

// Written out, and with the same fields in the same order: spreading others in takes fifteen times as long, and there may be
// ten thousand of these.
export function toolEntry(tool: Tool): Entry {
  const { name, title, short, whenToUse, capability, hash } = tool
  return {
    path: toolPath(name),
    kind: 'tool',
    title,
    summary: short,
    whenToUse,
    command: undefined,
    tools: NONE,
    tags: NONE,
    aliases: NONE,
    parents: [capabilityPath(capability)],
    seeAlso: NONE,
    hash,
    of: { tool },
  }
}

/** A tool that a capability has and does not offer. */
export function withheldEntry({ name, calledAs = name, reason }: WithheldTool, capability: string): Entry {
  return {
    path: toolPath(calledAs),
    kind: 'tool',
    title: calledAs,
    summary: '',
    whenToUse: '',
    command: undefined,
    tools: NONE,
    tags: NONE,
    aliases: NONE,
    parents: [capabilityPath(capability)],
    seeAlso: NONE,
    // All that is known of it is its name.
    hash: `withheld:${calledAs}`,
    of: { withheld: { name: calledAs, capability, reason } },
  }
}

const NONE: readonly string[] = []
