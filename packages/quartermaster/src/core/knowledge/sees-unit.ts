import type { Knowledge } from '../catalogue/index.ts'

/** What decides which units somebody sees. */
export interface UnitReader {
  /**
   * Whether they have a tool, working or not and held back or not; also one that stands for others or comes beside them. What
   * to do about a tool that is held back is often just what directions are for.
   */
  has(tool: string): boolean
  /** Whether they have no part in the project's own knowledge, as those who only visit. */
  readonly isGuest: boolean
}

/**
 * Whether a unit is for somebody: read by its path, taken into another, as a prompt or as a skill. Directions that name a
 * tool they do not have would only lead them to a step they cannot take.
 */
export function seesUnit(
  { kind, tools, isBuiltin }: Pick<Knowledge, 'kind' | 'tools' | 'isBuiltin'>,
  { has, isGuest }: UnitReader,
): boolean {
  if (isGuest && !isBuiltin) return false
  return kind !== 'directions' || tools.every(has)
}
