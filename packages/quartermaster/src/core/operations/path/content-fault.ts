import type { FoundIssue } from '../../kernel/index.ts'

// By hand, and not by a schema: every result of someone else's server comes by here, and a list may have many thousand pieces.

type Fields = Readonly<Record<string, unknown>>

/** What each kind of content has to have, as a text. MCP 2026-07-28, `ContentBlock`. */
const TEXTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['text', ['text']],
  ['image', ['data', 'mimeType']],
  ['audio', ['data', 'mimeType']],
  ['resource_link', ['uri', 'name']],
])

/**
 * What is wrong with a piece of content that a server of someone else gave. Clients refuse a whole answer for one piece that is
 * none, each in words of its own, so that it is said here. A kind that is not known here may be known to the client.
 */
export function contentFault(piece: unknown): FoundIssue | undefined {
  if (!isFields(piece) || typeof piece.type !== 'string') return { path: [], message: 'must be an object with a type.' }
  if (piece.type === 'resource') return within('resource', resourceFault(piece.resource))
  return textFault(piece, TEXTS.get(piece.type) ?? [])
}

/** The same of what was read at an address. */
export function resourceFault(resource: unknown): FoundIssue | undefined {
  if (!isFields(resource)) return { path: [], message: 'must be an object.' }
  if (typeof resource.uri !== 'string') return { path: ['uri'], message: 'must be a text.' }
  const isThere = typeof resource.text === 'string' || typeof resource.blob === 'string'
  return isThere ? undefined : { path: [], message: 'must have a text or a blob.' }
}

/** The same of a message of a prompt. */
export function messageFault(message: unknown): FoundIssue | undefined {
  if (!isFields(message)) return { path: [], message: 'must be an object.' }
  const { role, content } = message
  if (role !== 'user' && role !== 'assistant') return { path: ['role'], message: 'must be "user" or "assistant".' }
  return within('content', contentFault(content))
}

/** What is wrong with the first of a list that is not as it has to be. */
export function listFault(
  list: readonly unknown[],
  faultOf: (item: unknown) => FoundIssue | undefined,
): FoundIssue | undefined {
  for (let at = 0; at < list.length; at++) {
    const fault = faultOf(list[at])
    if (fault) return within(at, fault)
  }
  return undefined
}

export function within(key: PropertyKey, fault: FoundIssue | undefined): FoundIssue | undefined {
  return fault && { path: [key, ...fault.path], message: fault.message }
}

function textFault(piece: Fields, names: readonly string[]): FoundIssue | undefined {
  for (const name of names) if (typeof piece[name] !== 'string') return { path: [name], message: 'must be a text.' }
  return undefined
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
