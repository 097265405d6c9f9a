import { collectDefinitions, type Services } from '../core/catalogue/index.ts'
import type { UnitContents } from './hub.ts'

/** What a built-in module brings, for a hub. */
export function builtinUnit(module: object, services: Partial<Services> = {}): UnitContents {
  const { problems, ...definitions } = collectDefinitions({ default: module }, services, 'builtin')
  if (problems.length > 0) throw new Error(problems.map(problem => problem.message).join('\n'))
  return definitions
}
