import type { ToolDetail, ToolSummary } from '../contracts/index.ts'
import type { Tool } from '../core/catalogue/index.ts'
import type { Health } from '../core/health/index.ts'

function toolSummary(tool: Tool, health: Health): ToolSummary {
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

/** Tools with their present state, those that the filter leaves. */
export function listTools(
  tools: Iterable<Tool>,
  health: Health,
  { state, section }: { state?: ToolSummary['state'] | undefined; section?: string | undefined } = {},
): ToolSummary[] {
  const summaries = [...tools].map(tool => toolSummary(tool, health))
  return summaries.filter(one => (state ?? one.state) === one.state && (section ?? one.section) === one.section)
}

/** Everything there is to know about a tool. */
export function toolDetail(tool: Tool, health: Health): ToolDetail {
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
