import { FOREIGN_TOOLS, type ToolDetail, type ToolSummary } from '../../contracts/index.ts'
import type { Tool } from '../catalogue/index.ts'
import type { Health } from '../health/index.ts'
import { didYouMean } from '../kernel/index.ts'

type ToolHealth = Pick<Health, 'availability' | 'missing'>

function toolSummary(tool: Tool, health: ToolHealth): ToolSummary {
  const { active, recovering } = health.availability(tool)
  return {
    name: tool.name,
    title: tool.title,
    short: tool.short,
    section: tool.section,
    capability: tool.capability,
    source: tool.source === 'builtin' ? 'builtin' : tool.unit,
    command: tool.command,
    state: active ? 'active' : 'disabled',
    recovering,
    missing: active ? [] : health.missing(tool),
  }
}

export function listTools(tools: Iterable<Tool>, health: ToolHealth): ToolSummary[] {
  return [...tools].map(tool => toolSummary(tool, health))
}

/** `along` includes injected tools. */
export function filterTools(
  tools: readonly ToolSummary[],
  filter: {
    readonly state?: ToolSummary['state'] | undefined
    readonly section?: string | undefined
    readonly along?: boolean | undefined
  } = {},
): ToolSummary[] {
  const { state, section, along = false } = filter
  return tools.filter(
    one =>
      (state ?? one.state) === one.state &&
      (section ?? one.section) === one.section &&
      (along || one.comesAlong !== true),
  )
}

export function toolDetail(tool: Tool, health: ToolHealth): ToolDetail {
  const { ownName, whenToUse, mutates, idempotent, retry, timeoutMs, maxResultBytes, asTask, hash } = tool
  return {
    ...toolSummary(tool, health),
    ...(ownName === tool.name ? {} : { ownName }),
    ...(tool.opId === undefined ? {} : { opId: tool.opId }),
    whenToUse,
    requires: [...tool.requires],
    input: { ...tool.inputSchema },
    ...(tool.outputSchema ? { output: { ...tool.outputSchema } } : {}),
    examples: [...tool.examples],
    mutates,
    idempotent,
    retry,
    consent: [...tool.consent],
    timeoutMs,
    maxResultBytes,
    asTask,
    hash,
  }
}

/** Suggests a tool for an unknown name, to append to a message. Only names tools the agent may see. */
export function suggestTool(
  name: string,
  { names, isOffered }: { readonly names: Iterable<string>; isOffered(tool: string): boolean },
): string {
  // Untyped programs may pass any value.
  if (typeof name !== 'string') return ''
  const foreign = Object.hasOwn(FOREIGN_TOOLS, name) ? FOREIGN_TOOLS[name] : undefined
  if (!foreign) return didYouMean(name, names)
  return isOffered(foreign.tool) ? ` Use "${foreign.tool}".` : ` ${foreign.otherwise}`
}
