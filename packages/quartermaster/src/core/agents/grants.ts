import type { Issue, ResolutionEntry } from '../../contracts/index.ts'
import type { Prompt, Resource, Tool } from '../catalogue/index.ts'
import type { Skill } from '../knowledge/index.ts'

/** One tool that an agent has, and the configuration its handler gets. */
export interface Grant {
  readonly tool: Tool
  readonly capability: string
  readonly config: unknown
}

/** One prompt that an agent has, and the configuration it is filled in with. */
export interface PromptGrant {
  readonly prompt: Prompt
  readonly capability: string
  readonly config: unknown
}

/** One resource that an agent may read, and the configuration it is read with. */
export interface ResourceGrant {
  readonly resource: Resource
  readonly capability: string
  readonly config: unknown
}

/** What an agent's capabilities come to in one generation, whatever works just now. */
export interface Resolution {
  /** In order of definition. */
  readonly grants: ReadonlyMap<string, Grant>
  /** By name, in order of definition. */
  readonly prompts: ReadonlyMap<string, PromptGrant>
  /** By address or template, in order of definition. */
  readonly resources: ReadonlyMap<string, ResourceGrant>
  /** The directions among the resources, as skills. */
  readonly skills: readonly Skill[]
  /** Resources at an address that an earlier one has; one entry for each two capabilities. */
  readonly shadowed: readonly ShadowedResources[]
  /** What was asked for and is not there, with the reason. */
  readonly withheld: readonly ResolutionEntry[]
  /**
   * What those had once, or have left out, of which all was asked for, with the reason. Whoever calls one is told; nobody else
   * asked for it.
   */
  readonly absent: readonly ResolutionEntry[]
  /** Capabilities and names in `tools` lists that the configuration asks for wrongly; nothing is granted for them. */
  readonly refused: readonly ResolutionEntry[]
  /** What is wrong with the configuration. The library refuses all of it; a gateway withholds only what is in `refused`. */
  readonly issues: readonly CapabilityIssue[]
}

/** What a capability has at addresses where an agent reads the resources of another one. */
export interface ShadowedResources {
  readonly capability: string
  /** The one whose resources are read. */
  readonly by: string
  readonly keys: readonly string[]
}

export interface CapabilityIssue extends Issue {
  readonly code: 'CAPABILITY_UNKNOWN' | 'CONFIG_INVALID'
}

export const NOTHING_GRANTED: Resolution = Object.freeze({
  grants: new Map(),
  prompts: new Map(),
  resources: new Map(),
  skills: [],
  shadowed: [],
  withheld: [],
  absent: [],
  refused: [],
  issues: [],
})
