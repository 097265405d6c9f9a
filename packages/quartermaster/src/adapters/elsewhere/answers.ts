import { isRecord, type Params, type Response } from '../mcp-wire/index.ts'
import type { Workspace } from './workspace.ts'

/** A call of a tool that all workspaces have. */
export interface MergedCall {
  readonly tool: string
  /** The arguments, without the parameter of ours. */
  readonly input: Params
  /** The workspace that the agent named. */
  readonly named: string | undefined
  /** Makes the client's own call in one workspace. */
  forward(workspace: Workspace, input: Params): Promise<Response>
  /** Makes a call of the bridge's own. */
  ask(workspace: Workspace, tool: string, input: Params, signal: AbortSignal): Promise<Response>
  progress(update: { progress: number; message: string }): void
  readonly signal: AbortSignal
}

export function stateText(workspace: Workspace): string {
  const state = workspace.state()
  if (state.kind === 'failed') return `${state.isFinal ? 'refused' : 'out of reach'}. ${state.error.message}`
  return state.kind === 'connected'
    ? `connected to ${workspace.address.url}.`
    : `not reached yet (${workspace.address.url}).`
}

export function whyNot(workspace: Workspace): string {
  const state = workspace.state()
  return state.kind === 'failed' ? state.error.message : 'it is not connected yet.'
}

export function limited(signal: AbortSignal, ms: number): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(ms)])
}

/** The structured content of a result that is no error. */
export function dataOf({ result }: Response): Record<string, unknown> | undefined {
  if (!isRecord(result) || result.isError === true) return undefined
  return isRecord(result.structuredContent) ? result.structuredContent : {}
}

export function contentOf(response: Response | undefined): readonly unknown[] {
  const result = response?.result
  return isRecord(result) && Array.isArray(result.content) ? result.content : []
}

export function textOf(response: Response | undefined): string {
  const [first] = contentOf(response)
  return isRecord(first) && typeof first.text === 'string' ? first.text.slice(0, 300) : ''
}

export function listIn(data: Record<string, unknown> | undefined, name: string): Record<string, unknown>[] {
  const list = data?.[name]
  return Array.isArray(list) ? list.filter(isRecord) : []
}

export function messageIn(response: Response): boolean {
  return isRecord(dataOf(response)?.message)
}

export function timeOf(item: Record<string, unknown>, field = ''): string {
  return String(item[field] ?? '')
}

export function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

export function heldIn(all: readonly Record<string, unknown>[]): object {
  const held = all.map(({ held_by_others }) => held_by_others).filter(isRecord)
  if (held.length === 0) return {}
  const messages = held.reduce<number>((sum, one) => sum + (Number(one.messages) || 0), 0)
  const [until] = held.map(one => String(one.until)).sort()
  return { held_by_others: { messages, until } }
}

export function toResponse(result: object): Response {
  return { jsonrpc: '2.0', id: null, result }
}

export function amended(response: Response, more: object): Response {
  return { ...response, result: { ...(response.result as object), ...more } }
}
