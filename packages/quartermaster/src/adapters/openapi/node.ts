/** An object of a document, of which nothing is known. */
export type Node = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function recordsIn(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

export function textIn(node: Node, field: string): string | undefined {
  const value = node[field]
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** Why nothing can be made of an operation, as a sentence. */
export class Unmappable extends Error {}
