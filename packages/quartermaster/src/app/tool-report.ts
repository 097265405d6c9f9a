import type { ToolDetail, ToolSummary } from '../contracts/index.ts'
import type { Tool } from '../core/catalogue/index.ts'
import type { Health } from '../core/health/index.ts'

/** A tool with its present state, as lists show it. */
export function toolSummary(tool: Tool, health: Health): ToolSummary {
  const { active, recovering } = health.availability(tool)
  return {
    name: tool.name,
    title: tool.title,
    short: tool.short,
    section: tool.section,
    capability: tool.capability,
    source: tool.source === 'builtin' ? 'builtin' : tool.unit,
    state: active ? 'active' : 'disabled',
    recovering,
    missing: active ? [] : health.missing(tool),
  }
}

/** Everything there is to know about a tool. */
export function toolDetail(tool: Tool, health: Health): ToolDetail {
  const { whenToUse, mutates, idempotent, retry, timeoutMs, maxResultBytes, hash } = tool
  return {
    ...toolSummary(tool, health),
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
    hash,
  }
}
