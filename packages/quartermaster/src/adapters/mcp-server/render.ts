import type { CallToolResult, Tool as McpTool } from '@modelcontextprotocol/server'
import {
  AppError,
  type CallAnswer,
  KEPT_META,
  KeptResult,
  type OperationFacts,
  SUCCEEDED_META,
  type ToolResult,
  type WaitingHandle,
} from '../../contracts/index.ts'
import type { Tool } from '../../core/catalogue/index.ts'
import { isStructureDropped, withoutSucceededMeta } from '../../core/kernel/index.ts'

/** The client's protocol era: results and tools are rendered differently for each. */
export type Era = { readonly isModern: boolean }

const rendered = { modern: new WeakMap<Tool, McpTool>(), legacy: new WeakMap<Tool, McpTool>() }

/** A tool as MCP lists it. The description is `short`, verbatim; safety facts become annotations. */
export function toMcpTool(tool: Tool, era: Era): McpTool {
  const cache = era.isModern ? rendered.modern : rendered.legacy
  const known = cache.get(tool) ?? renderTool(tool, era)
  cache.set(tool, known)
  return known
}

function renderTool(tool: Tool, era: Era): McpTool {
  const { annotations, icons, _meta } = tool.mcp ?? {}
  const made: McpTool = {
    name: tool.name,
    title: tool.title,
    description: tool.short,
    inputSchema: tool.inputSchema as McpTool['inputSchema'],
    annotations: {
      ...annotations,
      title: tool.title,
      readOnlyHint: !tool.mutates,
      idempotentHint: tool.idempotent,
      // The default of MCP: a tool that changes something is destructive unless its definition says otherwise.
      ...(tool.mutates ? { destructiveHint: annotations?.destructiveHint !== false } : {}),
    },
    ...(showsOutput(tool, era) ? { outputSchema: listedOutput(tool) as NonNullable<McpTool['outputSchema']> } : {}),
    ...(tool.icon === undefined ? {} : { icons: [{ src: tool.icon }] }),
  }
  if (icons) made.icons = icons as NonNullable<McpTool['icons']>
  if (_meta) made._meta = _meta
  return made
}

/** Before 2026-07-28 structured content had to be an object; clients of that era reject anything else. */
export function showsOutput({ outputSchema }: Tool, { isModern }: Era): boolean {
  return isModern ? outputSchema !== undefined : outputSchema?.type === 'object'
}

const HANDLE = {
  type: 'object',
  properties: { status: { const: 'waiting' } },
  required: ['status', 'operationId'],
} as const

/**
 * The listed output schema: what the tool promises, or also a handle where its calls may wait. Clients reject structured content
 * that does not fit the schema, and results without any. An upstream's schema stays as it is unless its calls always may wait.
 */
export function listedOutput(tool: Tool): Readonly<Record<string, unknown>> {
  const { outputSchema = {}, consent, retry, requires, mcp } = tool
  const mayWait = consent.length > 0 || retry !== 'manual' || (requires.length > 0 && mcp === undefined)
  if (!mayWait) return outputSchema
  const { $schema, $defs, definitions, ...promised } = outputSchema
  const type = promised.type === 'object' ? { type: 'object' } : {}
  const root = { ...($schema === undefined ? {} : { $schema }), ...type }
  // One level down, these references and ids would resolve differently.
  if (POSITION_DEPENDENT.test(JSON.stringify(outputSchema))) return root
  const shared = { ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) }
  return { ...root, ...shared, anyOf: [promised, HANDLE] }
}

/** Refuses to let a call wait where the client would reject its handle. */
export function refuseUnfitHandle(tool: Tool, era: Era): void {
  if (!showsOutput(tool, era) || listedOutput(tool) !== tool.outputSchema) return
  const message = `A call of "${tool.name}" cannot wait: a handle is not what its server promises as a result.`
  throw new AppError('INPUT_INVALID', `${message} Call it again when the tool is active.`)
}

const POSITION_DEPENDENT = /"\$(?:id|anchor|dynamicAnchor)":|"\$(?:ref|dynamicRef)":"#(?!\/(?:\$defs|definitions)\/)/

/** A call's answer on the wire. The rest of a truncated result is a resource. */
export function toMcpResult(answer: CallAnswer, tool: Tool, era: Era): CallToolResult {
  const { result, kept, waiting, operationId } = answer
  if (waiting) return waitingResult(answer, waiting)
  if (!kept) return isStructureDropped(result) ? strippedResult(answer, tool, era) : toWire(result, operationId, era)
  const rest = withLinkToRest(withoutSucceededMeta(result), kept)
  const cut = toWire({ ...rest, _meta: { ...rest._meta, [KEPT_META]: kept } }, operationId, era)
  return result.isError || !showsOutput(tool, era) ? cut : markSucceeded(cut, succeededNote(tool.name, READ_ON))
}

function strippedResult({ result, operationId }: CallAnswer, tool: Tool, era: Era): CallToolResult {
  const wire = toWire(withoutSucceededMeta(result), operationId, era)
  return showsOutput(tool, era) ? markSucceeded(wire, succeededNote(tool.name, LEFT_OUT)) : wire
}

const READ_ON = 'read on below.'
const LEFT_OUT = 'what was left out is said below.'

function markSucceeded(result: CallToolResult, note: CallToolResult['content'][number]): CallToolResult {
  // Clients reject a result without the promised structure unless it is marked as an error.
  return {
    ...result,
    content: [note, ...result.content],
    isError: true,
    _meta: { ...result._meta, [SUCCEEDED_META]: true },
  }
}

/** A call that has not ended. Some clients show the model only the structure, so the text stands there too. */
function waitingResult({ result, operationId }: CallAnswer, waiting: WaitingHandle): CallToolResult {
  const _meta = { 'quartermaster/operationId': operationId, 'quartermaster/waiting': waiting }
  const { content } = result as CallToolResult
  const [first] = content
  const message = first?.type === 'text' ? { message: first.text } : {}
  return { content, structuredContent: { ...waiting, ...message }, _meta }
}

/** The result of a stored task on the wire. The tool may be gone or changed since. Only modern clients have tasks. */
export function toMcpOutcome(
  result: ToolResult,
  { id, tool }: Pick<OperationFacts, 'id' | 'tool'>,
  now: Tool | undefined,
): CallToolResult {
  const kept = KeptResult.safeParse(result._meta?.[KEPT_META])
  const own = withoutSucceededMeta(result)
  const wire = toWire(kept.success ? withLinkToRestOfTask(own, kept.data) : own, id, MODERN)
  if (!isStructureDropped(result) || result.isError || (now && !showsOutput(now, MODERN))) return wire
  return markSucceeded(wire, succeededNote(tool, kept.success ? READ_ON : LEFT_OUT))
}

function withLinkToRestOfTask(result: ToolResult, kept: KeptResult): ToolResult {
  const { [KEPT_META]: _kept, ..._meta } = result._meta ?? {}
  return withLinkToRest({ ...result, _meta }, kept)
}

const MODERN: Era = { isModern: true }

/** Removes the upstream's `resultType`: that was for the gateway, which sets its own. */
function toWire(result: ToolResult, operationId: string, era: Era): CallToolResult {
  // Every result passes here, and `Object.assign` is ten times faster than spreading.
  const wire: ToolResult = Object.assign({}, result, {
    _meta: Object.assign({}, result._meta, { 'quartermaster/operationId': operationId }),
  })
  if (!('resultType' in result) && fitsStructure(result.structuredContent, era)) return wire as CallToolResult
  const { structuredContent, resultType: _resultType, ...plain } = wire
  return (fitsStructure(structuredContent, era) ? { ...plain, structuredContent } : plain) as CallToolResult
}

/** Before 2026-07-28 structured content was an object or absent. */
function fitsStructure(value: unknown, { isModern }: Era): boolean {
  return isModern || value === undefined || (typeof value === 'object' && value !== null && !Array.isArray(value))
}

/** The address stands in a text as well: many clients do not show links to the model. */
function withLinkToRest(result: ToolResult, { resultId, nextOffset }: KeptResult): ToolResult {
  const uri = resultUri(resultId, nextOffset)
  const note = { type: 'text' as const, text: `[Read on at the resource ${uri}.]` }
  const link = { type: 'resource_link' as const, uri, name: 'rest of the result', mimeType: 'text/plain' }
  return { ...result, content: [...result.content, note, link] }
}

/** Comes first in the result: a model that reads a failure would repeat the call. */
function succeededNote(name: string, next: string) {
  const text =
    `"${name}" succeeded. Its result cannot be returned in full, so it is marked as an error. ` +
    `Do not call it again for this; ${next}`
  return { type: 'text' as const, text }
}

export function toolUri(name: string): string {
  return `quartermaster://tools/${name}`
}

export function parseToolUri(uri: string): string | undefined {
  return /^quartermaster:\/\/tools\/([A-Za-z0-9_-]{1,64})$/.exec(uri)?.[1]
}

export function resultUri(resultId: string, offset: number): string {
  return `quartermaster://results/${resultId}?offset=${offset}`
}

export function parseResultUri(uri: string): { resultId: string; offset: number } | undefined {
  const match = /^quartermaster:\/\/results\/([A-Za-z0-9_-]+)(?:\?offset=(\d{1,15}))?$/.exec(uri)
  return match ? { resultId: match[1] as string, offset: Number(match[2] ?? 0) } : undefined
}
