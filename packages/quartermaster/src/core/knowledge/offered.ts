import type { Knowledge } from '../catalogue/index.ts'

/**
 * Whether a unit is for somebody with these tools. Directions that name a tool they do not have would only lead them to a
 * step they cannot take.
 */
export function isOffered({ kind, tools }: Pick<Knowledge, 'kind' | 'tools'>, has: (tool: string) => boolean): boolean {
  return kind !== 'directions' || tools.every(has)
}
