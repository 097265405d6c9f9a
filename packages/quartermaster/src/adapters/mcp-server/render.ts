import type { CallToolResult, Tool as McpTool } from '@modelcontextprotocol/server'
import type { CallAnswer, ToolResult } from '../../contracts/index.ts'
import type { Tool } from '../../core/catalogue/index.ts'

const rendered = new WeakMap<Tool, McpTool>()

/** A tool as MCP lists it. The description is `short`, word for word; safety facts become annotations. */
export function toMcpTool(tool: Tool): McpTool {
  const known = rendered.get(tool)
  if (known) return known
  const made: McpTool = {
    name: tool.name,
    title: tool.title,
    description: tool.short,
    inputSchema: tool.inputSchema as McpTool['inputSchema'],
    annotations: {
      title: tool.title,
      readOnlyHint: !tool.mutates,
      idempotentHint: tool.idempotent,
      ...(tool.mutates ? { destructiveHint: true } : {}),
    },
    ...(hasObjectOutput(tool) ? { outputSchema: tool.outputSchema as NonNullable<McpTool['outputSchema']> } : {}),
    ...(tool.icon === undefined ? {} : { icons: [{ src: tool.icon }] }),
  }
  rendered.set(tool, made)
  return made
}

/** Before 2026-07-28 structured content had to be an object, and clients of that era refuse anything else. */
function hasObjectOutput(tool: Tool): boolean {
  return tool.outputSchema?.type === 'object'
}

/** A result as it is told, by itself: of a call that just ended, or of a task that ended before. */
export function toMcpOutcome(result: ToolResult, operationId: string): CallToolResult {
  const _meta = { ...result._meta, 'quartermaster/operationId': operationId }
  const { structuredContent, ...plain } = result
  const isObject =
    typeof structuredContent === 'object' && structuredContent !== null && !Array.isArray(structuredContent)
  return { ...plain, ...(isObject ? { structuredContent } : {}), _meta } as CallToolResult
}

/** What a call answered, on the wire. The rest of a cut result is a resource. */
export function toMcpResult({ result, kept, operationId }: CallAnswer, tool: Tool): CallToolResult {
  if (!kept) return toMcpOutcome(result, operationId)
  const _meta = { ...result._meta, 'quartermaster/operationId': operationId }
  const uri = resultUri(kept.resultId, kept.nextOffset)
  const link = { type: 'resource_link' as const, uri, name: 'rest of the result', mimeType: 'text/plain' }
  // Clients refuse a result without the structure its tool promises, unless it is marked as an error.
  const isError = result.isError || hasObjectOutput(tool)
  return { ...result, content: [...result.content, link], isError, _meta } as CallToolResult
}

/** The page of a tool. */
export function toolUri(name: string): string {
  return `quartermaster://tools/${name}`
}

/** The tool whose page a resource address means, or nothing. */
export function parseToolUri(uri: string): string | undefined {
  return /^quartermaster:\/\/tools\/([A-Za-z0-9_-]{1,64})$/.exec(uri)?.[1]
}

export function resultUri(resultId: string, offset: number): string {
  return `quartermaster://results/${resultId}?offset=${offset}`
}

/** The result and the place that a resource address means, or nothing. */
export function parseResultUri(uri: string): { resultId: string; offset: number } | undefined {
  const match = /^quartermaster:\/\/results\/([A-Za-z0-9_-]+)(?:\?offset=(\d{1,15}))?$/.exec(uri)
  return match ? { resultId: match[1] as string, offset: Number(match[2] ?? 0) } : undefined
}
