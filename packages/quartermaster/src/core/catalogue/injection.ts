import type { ResolverContext, RunMode } from '../../contracts/index.ts'
import { brand } from './brand.ts'
import type { AnyTool } from './tool.ts'

/** Tools that a run brings along by the way it was started; never listed in an agent's file, never switched there. */
export interface Injection {
  readonly key: string
  readonly short: string
  /** The kinds of run that get it. */
  readonly modes: readonly RunMode[]
  readonly tools: readonly AnyTool[]
  /** The handlers' configuration for this run, or `null` to leave it out. */
  resolve?(context: ResolverContext): { config?: unknown } | null
}

/** Defines tools that come with a kind of run. */
export function defineInjection(definition: Injection): Injection {
  return brand('injection', { ...definition })
}
